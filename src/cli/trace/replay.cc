// flopcast replay: the recorded run once more, task by task.
#include "flopcast/replay.h"

#include <fmt/format.h>

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/timelines.h"
#include "cli/trace/runs.h"
#include "flopcast/report/replay.h"
#include "flopcast/report/sets.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct ReplayCommand {
  InputOptions input;
  FormatOptions format;
  ReplayOptions replay;
  std::string structure_from, durations_from;
  NetworkOptions network;
  bool compare = false;
  fs::path html;
  std::vector<fs::path> trace_out;
};

/// The asked-for model; with --compare every model, the full one first.
Result<std::vector<Replay>> run_models(const TraceSet& set, const ReplayCommand& command) {
  std::vector<Baseline> models = {command.replay.baseline};
  if (command.compare) {
    models = {Baseline::kNone, Baseline::kSingleStream, Baseline::kNoInterStream, Baseline::kDpro};
  }
  std::vector<Replay> replays;
  for (const Baseline model : models) {
    ReplayOptions options = command.replay;
    options.baseline = model;
    options.sensitivity = !command.compare;  // only the tables of one model show it
    Result<Replay> result = replay(set, options);
    if (!result) return result.error();
    replays.push_back(std::move(*result));
  }
  return replays;
}

int write_traces(Io& io, const ReplayCommand& command, const TraceSet& set, const Replay& replay) {
  if (command.trace_out.empty()) return kDone;
  return write_timelines(io, command.trace_out, replayed_traces(set, replay));
}

int write_html(Io& io, const ReplayCommand& command, const TraceSet& set, const Replay& replay) {
  if (command.html.empty()) return kDone;
  return write_page(io, command.html, replay_html(set, replay));
}

/// One run: its results, and the files asked for.
int replay_run(Io& io, const ReplayCommand& command, const TraceSet& set,
               std::vector<SetResult>& results) {
  const Result<std::vector<Replay>> replays = run_models(set, command);
  if (!replays) {
    results.push_back(make_failed_result(set.label, replays.error()));
    return fail(io, replays.error());
  }
  for (const std::string& why : replays->front().damage) {
    warn(io, fmt::format("{}: damaged recording: {}", set.label, why));
  }
  for (const Replay& replay : *replays) {
    results.push_back(make_set_result(set, replay, command.replay));
    results.back().with_curves = true;
  }
  const Replay& first = replays->front();
  if (const int code = write_html(io, command, set, first); code != kDone) return code;
  return write_traces(io, command, set, first);
}

std::string result_text(const ReplayCommand& command, const std::vector<SetResult>& results) {
  if (command.format.json) return sets_json(results);
  if (command.format.csv) return sets_csv(results);
  if (command.compare) return models_text(results);
  std::string text;
  for (const SetResult& result : results) text += (text.empty() ? "" : "\n\n") + set_text(result);
  return text;
}

/// Files hold one run: a folder of several needs --prefix then.
std::optional<Diagnostic> check_runs(const ReplayCommand& command) {
  if (command.html.empty() && command.trace_out.empty()) return std::nullopt;
  const Result<std::vector<Run>> runs = runs_of(command.input);
  if (!runs) return runs.error();
  if (runs->size() == 1) return std::nullopt;
  return several_runs(command.input, *runs, "--html and --trace-out write one");
}

int run_replay(Io& io, ReplayCommand& command) {
  if (!command.structure_from.empty()) command.replay.structure_from = command.structure_from;
  if (!command.durations_from.empty()) command.replay.durations_from = command.durations_from;
  command.replay.threads = command.input.threads;
  command.input.keep_arguments =
      !command.trace_out.empty();  // the timeline has them, no table does
  if (const auto problem = check_runs(command)) return fail(io, *problem);
  const Result<std::optional<Machine>> network = network_machine(command.network);
  if (!network) return fail(io, network.error());
  if (network->has_value()) {
    command.replay.network = &(*network)->transfers();
    command.replay.network_name = (*network)->cluster().name;
  }
  std::vector<SetResult> results;
  const int code = for_each_run(io, command.input, [&](const TraceSet& set) {
    return replay_run(io, command, set, results);
  });
  if (results.empty()) return code;
  const int printed = print(io, result_text(command, results), command.format);
  return code != kDone ? code : printed;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "replay", "Replay profiler traces task by task: measured against replayed, and why");
  const auto command = std::make_shared<ReplayCommand>();
  add_input(*sub, command->input);
  add_steps(*sub, command->input.steps);
  add_lags(*sub, command->replay.lags);
  add_baseline(*sub, command->replay.baseline);
  sub->add_flag("--compare", command->compare, "All models side by side")->excludes("--baseline");
  CLI::Option* structure =
      sub->add_option("--structure-from", command->structure_from,
                      "Replay this step's graph, such as 12 or ProfilerStep#12 ...");
  CLI::Option* durations = sub->add_option("--durations-from", command->durations_from,
                                           "... with the durations of this other step");
  structure->type_name("STEP")->needs(durations);
  durations->type_name("STEP")->needs(structure);
  add_network(*sub, command->network);
  add_format(*sub, command->format, true);
  add_page(*sub, command->html);
  add_trace_out(*sub, "the replayed run", command->trace_out);
  set_example(*sub, "flopcast replay demo/sample --html demo/replay.html");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_replay(io, *command); }; });
}

}  // namespace flopcast::cli
