// flopcast explore: the best mapping at every point of a sweep over hardware and mapping.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/mapping/map_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/line_file.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/progress.h"
#include "flopcast/report/explore.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct ExploreCommand {
  MapFlags flags;
  std::vector<std::string> sweeps;
  bool explain = false;
  FormatOptions format;
  fs::path html, resume;
};

/// One sweep, from what a file holds of it to the last point.
class Sweep {
 public:
  Sweep(Io& io, const ExploreCommand& command, MappingQuestion question)
      : io_(io), command_(command), question_(std::move(question)) {}
  int run();

 private:
  std::optional<Diagnostic> open();
  std::optional<Diagnostic> take_up();
  /// Whether the row is where it should be; else `problem_` or `code_` says why not.
  bool keep(ExploreRow row);
  int map_points(const ExploreRequest& request);
  int show();

  Io& io_;
  const ExploreCommand& command_;
  MappingQuestion question_;
  std::string asked_;
  std::vector<ExploreAxis> axes_;
  std::size_t points_ = 0;
  std::optional<LineFile> file_;
  std::vector<ExploreRow> rows_;
  std::optional<Diagnostic> problem_;
  ErrorCode refused_ = ErrorCode::kTooLarge;  ///< why the first new point has no mapping
  int code_ = kDone;
};

std::optional<Diagnostic> Sweep::open() {
  Result<std::vector<ExploreAxis>> axes = explore_axes(command_.sweeps, Catalog::builtin());
  if (!axes) return axes.error();
  axes_ = std::move(*axes);
  points_ = explore_points(axes_);
  asked_ = explore_words(question_, command_.sweeps, command_.explain);
  return command_.resume.empty() ? std::nullopt : take_up();
}

/// Takes over the rows of the file, which must be the first of this very sweep.
std::optional<Diagnostic> Sweep::take_up() {
  Result<LineFile> file = LineFile::open(command_.resume, R"({"asked": ")");
  if (!file) return file.error();
  Result<std::vector<ExploreRow>> rows =
      read_explore_start(file->held(), command_.resume.string(), asked_, points_);
  if (!rows) return rows.error();
  if (const auto problem = file->cut_torn_line()) return problem;
  file_.emplace(std::move(*file));
  rows_ = std::move(*rows);
  return std::nullopt;
}

bool Sweep::keep(ExploreRow row) {
  const std::string line = explore_json_line(row);
  if (file_) problem_ = file_->append(line);
  if (!problem_ && command_.format.json) code_ = print(io_, line);
  rows_.push_back(std::move(row));
  return !problem_ && code_ == kDone;
}

int Sweep::show() {
  if (!command_.html.empty()) {
    const std::string title = fmt::format("{} on {}", question_.workload, question_.on);
    const int code = write_page(io_, command_.html, explore_html(rows_, title));
    if (code != kDone) return code;
  }
  if (command_.format.json) return kDone;  // its lines are out already
  return print(io_, command_.format.csv ? explore_csv(rows_) : explore_text(rows_),
               command_.format);
}

int Sweep::map_points(const ExploreRequest& request) {
  Progress progress(io_, Progress::Of::kPoints);
  const auto show_progress = progress.callback();
  const auto done = explore(request, Catalog::builtin(), [&](const ExplorePoint& point) {
    if (!point.mapping && point.index == request.first) refused_ = point.refusal.code;
    if (show_progress) show_progress(point.index + 1, points_);
    return keep(explore_row(asked_, axes_, points_, point));
  });
  if (!done) return fail(io_, done.error());
  return problem_ ? fail(io_, *problem_) : code_;
}

int Sweep::run() {
  if (const auto problem = open()) return fail(io_, *problem);
  Result<ExploreRequest> request =
      explore_of_question(question_, command_.sweeps, command_.explain);
  if (!request) return fail(io_, request.error());
  request->first = rows_.size();
  if (command_.format.json) {
    for (const ExploreRow& row : rows_) {
      if (const int code = print(io_, explore_json_line(row)); code != kDone) return code;
    }
  }
  if (const int code = map_points(*request); code != kDone) return code;
  const bool any =
      std::any_of(rows_.begin(), rows_.end(), [](const auto& row) { return row.fits; });
  const bool alike = std::all_of(rows_.begin(), rows_.end(), [this](const ExploreRow& row) {
    return row.problem == rows_.front().problem;
  });
  // Something is wrong that no value of the sweep mends: there is nothing to show.
  if (!any && alike && refused_ != ErrorCode::kTooLarge) {
    return fail(io_, {refused_, "", rows_.front().problem, ""});
  }
  if (const int code = show(); code != kDone) return code;
  if (any) return kDone;
  return fail(
      io_, {refused_, "explore", "no point of the sweep fits; the first: " + rows_.front().problem,
            "sweep larger values of what is short"});
}

int run_explore(Io& io, const ExploreCommand& command) {
  Result<MappingQuestion> question = mapping_question(command.flags);
  if (!question) return fail(io, question.error());
  if (question->on.empty()) {
    return fail(io, {ErrorCode::kUsage, "--on", "is missing",
                     "name the system that sweeps change, such as \"8 x sn10\""});
  }
  return Sweep(io, command, std::move(*question)).run();
}

}  // namespace

void add_explore(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "explore", "The best mapping at every point of a sweep over hardware and mapping");
  const auto command = std::make_shared<ExploreCommand>();
  add_mapping(*sub, command->flags);
  std::string names;
  for (const std::string& name : explore_names()) names += (names.empty() ? "" : ", ") + name;
  add_mapping_texts(*sub, "--sweep", command->sweeps,
                    fmt::format("Map at every value: sram=150MB..500MB:50MB, chip=sn30,h100, "
                                "memory-bandwidth=1x..8x; may be given again; of {}",
                                names),
                    "NAME=VALUES");
  sub->get_option("--sweep")->required();
  sub->add_flag("--explain", command->explain,
                "Map every point again with twice of each resource: what would help");
  add_format(*sub, command->format, true);
  sub->get_option("--json")->description("Print a JSON line for each point as it is found");
  add_page(*sub, command->html, "Write a self-contained page of heat maps");
  as_output(
      sub->add_option("--resume", command->resume,
                      "Add a line for each point to this file; those it holds are not mapped again")
          ->type_name("FILE.jsonl"));
  set_example(*sub,
              "flopcast explore gpt3-175b --on \"8 x sn10\" --topology torus:4x2 "
              "--sweep sram=200MB,320MB --sweep memory-bandwidth=100GB/s,300GB/s");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_explore(io, *command); }; });
}

}  // namespace flopcast::cli
