// flopcast validate training: forecasts measured training runs and prints how far off they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cli/terminal/command.h"
#include "cli/terminal/folders.h"
#include "cli/terminal/options.h"
#include "flopcast/report/training.h"

namespace flopcast::cli {
namespace {

struct TrainingCommand {
  std::vector<std::filesystem::path> files;
  RunFilter filter;
  RunReading reading;
  std::vector<std::string> fits;
  FormatOptions format;
  bool cases = false, untold = false;
  unsigned threads = 0;
};

/// Few enough runs to print each without being asked.
bool is_short(const TrainingReport& report) { return report.forecasts.size() <= 20; }

/// The files of --fit, which are constants all.
Result<std::vector<std::shared_ptr<const FitFile>>> read_constants(
    const std::vector<std::string>& files) {
  std::vector<std::shared_ptr<const FitFile>> fits;
  for (const std::string& file : files) {
    auto fit = read_fit_file(file);
    if (!fit) return fit.error();
    if ((*fit)->kind != FitKind::kConstants) {
      return usage_error(
          file, fmt::format("is a fit of {}, and runs are of many machines", name((*fit)->kind)),
          "give constants of training, as tools/fit_training.py writes them");
    }
    fits.push_back(std::move(*fit));
  }
  return fits;
}

/// What is wrong with such a file, which every forecast tells.
std::optional<Diagnostic> constants_problem(const std::vector<std::string>& files,
                                            const std::vector<RunForecast>& forecasts) {
  const auto tells = [&](const RunForecast& f) {
    return f.failure && std::ranges::any_of(files, [&](const std::string& file) {
             return f.failure->where.starts_with(file);
           });
  };
  const auto found = std::ranges::find_if(forecasts, tells);
  if (found == forecasts.end()) return std::nullopt;
  return found->failure;
}

int run_training(Io& io, const TrainingCommand& command) {
  const auto fits = read_constants(command.fits);
  if (!fits) return fail(io, fits.error());
  constexpr std::array<std::string_view, 2> kEndings = {".json", ".csv"};
  const auto files = files_of(command.files, kEndings);
  if (!files) return fail(io, files.error());
  std::vector<TrainingRun> runs;
  for (const std::filesystem::path& file : *files) {
    Result<std::vector<TrainingRun>> read = read_training_runs(file, command.reading);
    if (!read) return fail(io, read.error());
    runs.insert(runs.end(), std::make_move_iterator(read->begin()),
                std::make_move_iterator(read->end()));
  }
  if (const auto problem = filter_problem(command.filter, runs)) return fail(io, *problem);
  if (const auto problem = unseen_problem(command.reading, runs)) return fail(io, *problem);
  const RunForecaster forecaster(std::move(runs));
  const std::vector<RunForecast> forecasts =
      forecaster.forecast({*fits, command.threads, {}, !command.untold});
  if (const auto problem = constants_problem(command.fits, forecasts)) {
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
  sub->add_option("FILE", command->files, "Measured runs: JSON or CSV, or folders of them")
      ->required()
      ->type_name("");
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
  sub->add_option("--fit,--constants", command->fits,
                  "Constants of software and chips over the catalogue's; may be repeated")
      ->type_name("FILE.toml")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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
