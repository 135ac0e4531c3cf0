// flopcast validate training: forecasts measured training runs and prints how far off they are.
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/training.h"

namespace flopcast::cli {
namespace {

struct TrainingCommand {
  std::vector<std::filesystem::path> files;
  RunFilter filter;
  RunReading reading;
  std::string constants;
  FormatOptions format;
  bool cases = false, untold = false;
  unsigned threads = 0;
};

/// Few enough runs to print each without being asked.
bool is_short(const TrainingReport& report) { return report.forecasts.size() <= 20; }

/// What is wrong with the file of constants, which every forecast tells.
std::optional<Diagnostic> constants_problem(const std::string& file,
                                            const std::vector<RunForecast>& forecasts) {
  const auto tells = [&](const RunForecast& f) {
    return !file.empty() && f.failure && f.failure->where.starts_with(file);
  };
  const auto found = std::ranges::find_if(forecasts, tells);
  if (found == forecasts.end()) return std::nullopt;
  return found->failure;
}

int run_training(Io& io, const TrainingCommand& command) {
  std::vector<TrainingRun> runs;
  for (const std::filesystem::path& file : command.files) {
    Result<std::vector<TrainingRun>> read = read_training_runs(file, command.reading);
    if (!read) return fail(io, read.error());
    runs.insert(runs.end(), std::make_move_iterator(read->begin()),
                std::make_move_iterator(read->end()));
  }
  if (const auto problem = filter_problem(command.filter, runs)) return fail(io, *problem);
  if (const auto problem = unseen_problem(command.reading, runs)) return fail(io, *problem);
  const RunForecaster forecaster(std::move(runs));
  const std::vector<RunForecast> forecasts =
      forecaster.forecast({command.constants, command.threads, {}, !command.untold});
  if (const auto problem = constants_problem(command.constants, forecasts)) {
    return fail(io, *problem);
  }
  const TrainingReport report = training_report(forecaster.runs(), forecasts, command.filter);
  const std::string text = command.format.json ? training_json(report)
                           : command.format.csv
                               ? training_csv(report)
                               : training_text(report, command.cases || is_short(report));
  return print(io, text, command.format);
}

}  // namespace

void add_validate_training(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "training", "Forecast measured training runs; errors per run and set, what was assumed");
  const auto command = std::make_shared<TrainingCommand>();
  sub->add_option("FILE", command->files, "Measured runs: JSON or CSV")->required()->type_name("");
  sub->add_option("--quality", command->filter.quality, "Only runs of these qualities: A, AB")
      ->type_name("A|B|AB");
  CLI::Option* dense =
      sub->add_flag("--dense", command->filter.dense, "Only models without experts");
  sub->add_flag("--moe", command->filter.experts, "Only models with experts")->excludes(dense);
  sub->add_option("--set", command->filter.sets, "Only this set of runs; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--cases", command->cases,
                "Print a line for every run as well: default up to 20 runs");
  sub->add_option("--constants", command->constants,
                  "Constants of software and chips instead of the catalogue's")
      ->type_name("FILE.toml");
  sub->add_flag("--no-software", command->untold,
                "Forecast as if nobody had told which software ran: bands of not knowing");
  sub->add_option(
         "--unseen", command->reading.unseen_sets,
         "As if this set of runs had never been seen: without what only its launches told of "
         "others; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_format(*sub, command->format, true);
  sub->add_option("--threads", command->threads, "Threads to compute with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate training examples/training_runs.json --cases");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_training(io, *command); }; });
}

}  // namespace flopcast::cli
