// flopcast merge: the shards of a search, or of each search of a sweep, as the whole would have been.
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/files/read_file.h"
#include "cli/plan/plan_points.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct MergeCommand {
  std::vector<fs::path> files;
  PlanOutput output;
  bool text = false;
};

Result<std::vector<PlanReport>> read_shards(const std::vector<fs::path>& files) {
  std::vector<PlanReport> shards;
  for (const fs::path& path : files) {
    const Result<std::string> text = read_file(path, "name files that flopcast plan --shard wrote");
    if (!text) return text.error();
    Result<std::vector<PlanReport>> reports = read_plan_reports(*text, path.string());
    if (!reports) return reports.error();
    std::move(reports->begin(), reports->end(), std::back_inserter(shards));
  }
  return shards;
}

/// Whichever of them it is that does not belong to the others.
std::string names_of(const std::vector<fs::path>& files) {
  std::string names;
  for (const fs::path& file : files) names += (names.empty() ? "" : ", ") + file.string();
  return names;
}

int run_merge(Io& io, const MergeCommand& command) {
  const Result<std::vector<PlanReport>> shards = read_shards(command.files);
  if (!shards) return fail(io, shards.error());
  const Result<std::vector<PlanReport>> merged = merge_all_plans(*shards);
  if (!merged) {
    Diagnostic error = merged.error();
    error.where = names_of(command.files);
    return fail(io, error);
  }
  PlanOutput output = command.output;
  output.format.json = !command.text && !output.format.csv;
  if (const int code = show_plans(io, output, *merged); code != kDone) return code;
  const bool fits = std::any_of(merged->begin(), merged->end(),
                                [](const PlanReport& report) { return report.fits(); });
  if (fits) return kDone;
  return fail(io, {ErrorCode::kTooLarge, merged->front().model, "no plan fits",
                   "flopcast plan without --shard says what would make one fit"});
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "merge", "Put the shards of flopcast plan --shard together: the JSON of the whole search");
  const auto command = std::make_shared<MergeCommand>();
  sub->add_option("FILE", command->files, "Files of all shards, in any order")
      ->required()
      ->type_name("");
  CLI::Option* json = sub->add_flag("--json", command->output.format.json, "Print JSON (default)");
  CLI::Option* csv =
      sub->add_flag("--csv", command->output.format.csv, "Print a row per plan, comma-separated");
  CLI::Option* text = sub->add_flag("--text", command->text, "Print tables, as flopcast plan does");
  csv->excludes(json);
  text->excludes(json)->excludes(csv);
  add_page(*sub, command->output.html);
  set_example(*sub, "flopcast merge examples/plan_shard0.jsonl examples/plan_shard1.jsonl --text");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_merge(io, *command); }; });
}

}  // namespace flopcast::cli
