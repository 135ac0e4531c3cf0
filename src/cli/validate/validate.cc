// flopcast validate replay: how near replays are to their recordings, over many sets.
#include <fmt/format.h>

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/trace/runs.h"
#include "flopcast/report/sets.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct ValidateCommand {
  std::vector<fs::path> paths;
  std::string prefix;
  FormatOptions format;
  ReplayOptions replay;
  NetworkOptions network;
  unsigned threads = 0;
  std::optional<StepRange> steps;
};

SetResult validate_run(Io& io, const ValidateCommand& command, const Run& run) {
  ReadOptions options;
  options.threads = command.threads;
  options.steps = command.steps;
  const Result<TraceSet> set = read_run(io, run, options);
  if (!set) return make_failed_result(run.name, set.error());
  const Result<Replay> result = replay(*set, command.replay);
  if (!result) return make_failed_result(run.name, result.error());
  return make_set_result(*set, *result, command.replay);
}

std::vector<SetResult> validate_all(Io& io, const ValidateCommand& command) {
  std::vector<SetResult> results;
  for (const fs::path& path : command.paths) {
    const Result<std::vector<Run>> runs = runs_of(path, command.prefix);
    if (!runs) {
      results.push_back(make_failed_result(path.string(), runs.error()));
      continue;
    }
    for (const Run& run : *runs) {
      results.push_back(validate_run(io, command, run));
      const SetResult& last = results.back();
      if (last.failure) warn(io, fmt::format("{}: {}", last.name, last.failure->text()));
    }
  }
  return results;
}

int run_validate(Io& io, ValidateCommand& command) {
  command.replay.threads = command.threads;
  command.replay.sensitivity = false;
  const Result<std::optional<Machine>> network = network_machine(command.network);
  if (!network) return fail(io, network.error());
  if (network->has_value()) {
    command.replay.network = &(*network)->transfers();
    command.replay.network_name = (*network)->cluster().name;
  }
  const std::vector<SetResult> results = validate_all(io, command);
  const std::string text = command.format.json  ? sets_json(results)
                           : command.format.csv ? sets_csv(results)
                                                : sets_text(results);
  if (const int code = print(io, text, command.format); code != kDone) return code;
  for (const SetResult& result : results) {
    if (result.failure) return static_cast<int>(result.failure->code);
    if (!result.unreadable.empty()) return static_cast<int>(ErrorCode::kBadInput);
  }
  return kDone;
}

void add_validate_replay(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "replay",
      "Replay many trace sets; errors per set and over all. Each run of a folder is a set");
  const auto command = std::make_shared<ValidateCommand>();
  sub->add_option("DIR", command->paths, "Folders of traces, or single files")
      ->required()
      ->type_name("");
  sub->add_option("--prefix", command->prefix, "Only runs whose names start so")->type_name("RUN");
  add_steps(*sub, command->steps);
  add_lags(*sub, command->replay.lags);
  add_baseline(*sub, command->replay.baseline);
  add_network(*sub, command->network);
  add_format(*sub, command->format, true);
  sub->add_option("--threads", command->threads, "Threads to read with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate replay demo/sample --lags zero");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_validate(io, *command); }; });
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* validate =
      app.add_subcommand("validate", "Prove forecasts on measured runs, yours or ours");
  validate->require_subcommand(1);
  set_example(*validate, "flopcast validate replay demo/sample");
  add_validate_replay(*validate, action);
  add_validate_collectives(*validate, action);
  add_validate_kernels(*validate, action);
  add_validate_training(*validate, action);
  add_validate_transformer_model(*validate, action);
  add_validate_mapping(*validate, action);
  add_validate_whatif(*validate, action);
  add_validate_serving(*validate, action);
  add_validate_serving_trace(*validate, action);
}

}  // namespace flopcast::cli
