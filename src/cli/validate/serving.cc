// flopcast validate serving, validate serving-trace: forecasts of measured deployments beside what was measured.
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/serving.h"

namespace flopcast::cli {
namespace {

struct ServingCommand {
  std::filesystem::path file;
  ServingValidationOptions options;
  FormatOptions format;
  bool cases = false, alone = false;
};

int run_serving(Io& io, const ServingCommand& command) {
  ServingValidationOptions options = command.options;
  options.siblings = options.offline = !command.alone && !command.format.csv;
  const auto validation = validate_serving(command.file, Catalog::builtin(), options);
  if (!validation) return fail(io, validation.error());
  const std::string text = command.format.json ? serving_validation_json(*validation)
                           : command.format.csv
                               ? serving_validation_csv(*validation)
                               : serving_validation_text(*validation, command.cases);
  return print(io, text, command.format);
}

struct ServingTraceCommand {
  std::filesystem::path file, meta;
  std::string chip;
  FormatOptions format;
};

/// FILE.jsonl has its settings in FILE.meta.json.
std::filesystem::path beside(const ServingTraceCommand& command) {
  if (!command.meta.empty()) return command.meta;
  std::filesystem::path path = command.file;
  return path.replace_extension(".meta.json");
}

int run_serving_trace(Io& io, const ServingTraceCommand& command) {
  const auto timeline = read_serving_timeline(command.file);
  if (!timeline) return fail(io, timeline.error());
  const auto deployment = timeline_deployment(beside(command), command.chip, Catalog::builtin());
  if (!deployment) return fail(io, deployment.error());
  const auto forecast = forecast_timeline(*timeline, *deployment, Catalog::builtin());
  if (!forecast) return fail(io, forecast.error());
  return print(
      io, command.format.json ? serving_timeline_json(*forecast) : serving_timeline_text(*forecast),
      command.format);
}

}  // namespace

void add_validate_serving(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "serving",
      "Forecast measured inference deployments; errors by engine, chip, model; what was left out");
  const auto command = std::make_shared<ServingCommand>();
  sub->add_option("FILE", command->file, "Measured points: JSON (docs/reference/serving.md)")
      ->required()
      ->type_name("");
  sub->add_option("--engine", command->options.filter.engine, "Only points of this engine")
      ->check(CLI::IsMember({"vllm", "sglang", "trtllm"}));
  sub->add_option("--chip", command->options.filter.chips,
                  "Only points on this chip; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--model", command->options.filter.models,
                  "Only points whose model's name holds this; may be repeated")
      ->type_name("WORD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--cases", command->cases, "Print a line for every point as well");
  sub->add_flag("--alone", command->alone,
                "Leave out forecasts with one measured point, and offline maxima");
  sub->add_option("--constants", command->options.constants,
                  "Constants of the iteration instead of catalog/serving/constants.toml")
      ->type_name("FILE.toml");
  add_format(*sub, command->format, true);
  sub->add_option("--threads", command->options.threads,
                  "Threads to compute with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate serving examples/serving_points.json --cases");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_serving(io, *command); }; });
}

void add_validate_serving_trace(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "serving-trace",
      "Replay the arrivals of a measured vLLM timeline; percentiles beside the measured ones");
  const auto command = std::make_shared<ServingTraceCommand>();
  sub->add_option("FILE", command->file, "Measured requests: JSON lines")
      ->required()
      ->type_name("");
  sub->add_option("--meta", command->meta, "What ran them, default FILE with .meta.json")
      ->type_name("FILE.json");
  sub->add_option("--chip", command->chip, "The chip, where neither settings nor file name tell it")
      ->type_name("NAME");
  add_format(*sub, command->format, false);
  set_example(*sub, "flopcast validate serving-trace examples/serving_timeline.jsonl");
  sub->callback([command, &action] {
    action = [command](Io& io) { return run_serving_trace(io, *command); };
  });
}

}  // namespace flopcast::cli
