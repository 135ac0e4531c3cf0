// flopcast models list|show: the models and dataflow workloads that are known by name, and what a
// config.json or a dataflow file says.
#include <algorithm>
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/model.h"

namespace flopcast::cli {
namespace {

struct ModelsCommand {
  std::string what;
  FormatOptions format;
};

/// The built-in workloads, each under the name that asks for it.
std::vector<DataflowWorkload> known_workloads() {
  std::vector<DataflowWorkload> workloads;
  for (const std::string& name : builtin_dataflows()) {
    Result<DataflowWorkload> workload = load_dataflow(name);
    if (!workload) continue;  // the tests load every one of them
    workload->graph.name = name;
    workloads.push_back(std::move(*workload));
  }
  return workloads;
}

int run_models_list(Io& io, const ModelsCommand& command) {
  std::span<const Model> models = builtin_models();
  std::vector<DataflowWorkload> workloads = known_workloads();
  if (command.what == "models") workloads.clear();
  if (command.what == "workloads") models = {};
  return print(
      io,
      command.format.json ? model_list_json(models, workloads) : model_list_text(models, workloads),
      command.format);
}

bool names_workload(const std::string& name) {
  const std::vector<std::string> known = builtin_dataflows();
  return name.ends_with(".toml") || name.ends_with(".txt") ||
         std::find(known.begin(), known.end(), name) != known.end();
}

/// A name may be that of a model and of a workload: both are shown.
int run_models_show(Io& io, const ModelsCommand& command) {
  std::vector<Model> models;
  std::vector<DataflowWorkload> workloads;
  const bool workload_first = names_workload(command.what);
  Result<Model> model = load_model(command.what);
  if (model) models.push_back(std::move(*model));
  if (!model || workload_first) {
    Result<DataflowWorkload> workload = load_dataflow(command.what);
    if (!workload && models.empty()) {
      return fail(io, workload_first ? workload.error() : model.error());
    }
    if (workload) workloads.push_back(std::move(*workload));
  }
  if (command.format.json) return print(io, model_list_json(models, workloads));
  std::string text;
  for (const Model& one : models) text += model_text(one);
  for (const DataflowWorkload& one : workloads) {
    text += (text.empty() ? "" : "\n") + workload_text(one);
  }
  return print(io, text, command.format);
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  CLI::App* models = app.add_subcommand(
      "models", "Known models and dataflow workloads: sizes, layers, parameters, sources");
  models->require_subcommand(1);
  set_example(*models, "flopcast models show llama-3-8b");

  CLI::App* list = models->add_subcommand("list", "Every model and workload known by name");
  const auto listing = std::make_shared<ModelsCommand>();
  list->add_option("WHAT", listing->what, "models or workloads; both if left out")
      ->check(CLI::IsMember({"models", "workloads"}))
      ->type_name("");
  add_format(*list, listing->format, false);
  set_example(*list, "flopcast models list workloads");
  list->callback(
      [listing, &action] { action = [listing](Io& io) { return run_models_list(io, *listing); }; });

  CLI::App* show = models->add_subcommand(
      "show", "What is known of one: every size of a model, every kernel of a workload");
  const auto showing = std::make_shared<ModelsCommand>();
  show->add_option("NAME", showing->what,
                   "A model (llama-3-8b), a workload (gpt3-1t:decode), a config.json or the "
                   "folder that holds one, or a dataflow file")
      ->required()
      ->type_name("");
  add_format(*show, showing->format, false);
  set_example(*show, "flopcast models show deepseek-v3");
  show->callback(
      [showing, &action] { action = [showing](Io& io) { return run_models_show(io, *showing); }; });
}

}  // namespace flopcast::cli
