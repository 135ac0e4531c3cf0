#include "flopcast/question/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/measured/training.h"

namespace flopcast {

LaunchSite launch_site(const Cluster& cluster, std::string arguments) {
  const bool bf16 = cluster.chip.matrix_rate(DataType::kBf16).value > 0;
  return {cluster.nodes(), cluster.chips_per_node(), bf16, std::move(arguments),
          devices_of(cluster.chip.name)};
}

namespace {

/// Names under which a model may be built in that a file calls ORGANISATION/NAME-Instruct, best first.
std::vector<std::string> names_of(const std::string& told) {
  std::vector<std::string> names = {told};
  std::string name = told.substr(told.find_last_of('/') + 1);
  names.push_back(name);
  for (const std::string_view end :
       {"-Instruct", "-instruct", "-Chat", "-chat", "-Base", "-base", "-hf", "-it", "-pt"}) {
    if (name.size() > end.size() && name.ends_with(end)) {
      name.erase(name.size() - end.size());
      names.push_back(name);
    }
  }
  constexpr std::string_view kMaker = "Meta-";
  if (name.starts_with(kMaker)) names.push_back(name.substr(kMaker.size()));
  return names;
}

/// The model that a file names: built in, or a configuration that lies where the name says.
Result<Model> named_model(const std::string& told) {
  for (const std::string& name : names_of(told)) {
    if (name.empty() || name == "-") continue;
    Result<Model> model = load_model(name);
    if (model) return model;
  }
  return Diagnostic{ErrorCode::kUsage, "MODEL",
                    fmt::format("is missing: the file trains {}, which is not built in", told),
                    "name it first, by the path of its config.json"};
}

}  // namespace

Result<Model> model_of(const std::string& name, const PlanFile* from) {
  if (!name.empty()) return load_model(name);
  if (from != nullptr && from->model.whole) return *from->model.whole;
  if (from != nullptr && !from->model.name.empty()) return named_model(from->model.name);
  if (from == nullptr) {
    return Diagnostic{ErrorCode::kUsage, "MODEL", "is missing",
                      "name it first, such as llama-3-8b"};
  }
  std::string what = "is missing, and the launch configuration does not tell it";
  if (!from->model.missing.empty()) {
    what += fmt::format(": {}", fmt::join(from->model.missing, ", "));
  }
  return Diagnostic{ErrorCode::kUsage, "MODEL", std::move(what),
                    "name it first, such as llama-3-8b"};
}

void compare_model(PlanFile& file, const Model& model) {
  if (!file.model.name.empty() && !file.model.whole) {
    const Result<Model> told = named_model(file.model.name);
    if (told && told->name != model.name) {
      file.assumed.insert(file.assumed.begin(),
                          fmt::format("the file trains {}, not {}", file.model.name, model.name));
    }
  }
  const std::vector<std::string> differences = model_differences(file.model, model);
  if (differences.empty()) return;
  file.assumed.insert(file.assumed.begin(), fmt::format("the file trains another model than {}: {}",
                                                        model.name, fmt::join(differences, ", ")));
}

void take_software(PlanFile& file, TrainingOptions& options) {
  if (!options.software.empty() || file.software.empty()) return;
  options.software = file.software;
  const LauncherFacts& launcher = facts(file.launcher);
  std::string words = fmt::format("software of {}", launcher.words);
  if (!launcher.since.empty() && launcher.software == file.software) {
    words += fmt::format(" since {}", launcher.since);
  }
  file.assumed.push_back(fmt::format("{}: {}", words, file.software));
}

}  // namespace flopcast
