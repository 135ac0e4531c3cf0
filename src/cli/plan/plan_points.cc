#include "cli/plan/plan_points.h"

#include <fmt/format.h>

#include <chrono>

#include "base/text/format.h"
#include "cli/plan/plan_lines.h"
#include "cli/terminal/progress.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

int show_page(Io& io, const fs::path& html, std::span<const PlanReport> reports) {
  return html.empty() ? kDone : write_page(io, html, plans_html(reports));
}

/// Points of one command, one after the other.
class Run {
 public:
  Run(Io& io, const PlanPoints& command) : io_(io), command_(command) {}

  int all();

 private:
  std::optional<Diagnostic> open();
  Result<PlanReport> point(const PlanQuestion& question);
  int show() const;
  std::string effort() const;
  /// Lines go out as they come, where they are what was asked for.
  bool streams() const {
    return command_.output.format.json && command_.sweep && command_.out.empty();
  }
  bool part() const { return command_.sharded; }

  Io& io_;
  const PlanPoints& command_;
  std::optional<PlanLines> lines_;
  std::vector<PlanReport> reports_;
  std::size_t reused_ = 0;
  std::uint64_t plans_ = 0, bounded_ = 0;  ///< of what was searched now
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::optional<Diagnostic> Run::open() {
  if (command_.out.empty()) return std::nullopt;
  Result<PlanLines> lines = PlanLines::open(command_.out);
  if (!lines) return lines.error();
  lines_.emplace(std::move(*lines));
  return std::nullopt;
}

Result<PlanReport> Run::point(const PlanQuestion& question) {
  if (lines_) {
    const Result<PlanReport> head = asked(question);
    if (!head) return head.error();
    if (const PlanReport* known = lines_->find(*head, command_.shard, command_.shards)) {
      ++reused_;
      return *known;
    }
  }
  Progress progress(io_, Progress::Of::kPlans);
  PlanRun run{command_.threads, command_.shard, command_.shards, {}};
  if (const auto show = progress.callback()) {
    run.progress = [show](std::uint64_t done, std::uint64_t all) {
      show(done, all);
      return true;
    };
  }
  Result<PlanReport> report = answer(question, run);
  if (!report) return report;
  plans_ += report->search.plans;
  bounded_ += report->search.bounded;
  if (lines_) {
    if (const auto problem = lines_->append(*report)) return *problem;
  }
  return report;
}

/// What the search took: talk, for the result is the same however it was made.
std::string Run::effort() const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string text = fmt::format("Searched in {:.2f} s", seconds);
  if (plans_ > 0 && seconds > 0) {
    const double rate = static_cast<double>(plans_) / seconds;
    text += fmt::format(", {} plans a second", grouped(static_cast<std::uint64_t>(rate)));
  }
  if (bounded_ > 0) {
    text += fmt::format("; bounds alone ruled {} out", counted(bounded_, "placed plan"));
  }
  if (reused_ > 0) {
    text += fmt::format("; {} in {} already", counted(reused_, "point"), command_.out.string());
  }
  return text + '\n';
}

int Run::show() const {
  if (!command_.out.empty() && part()) return kDone;
  if (part()) {
    std::string lines;
    for (const PlanReport& report : reports_) lines += plan_json_line(report);
    return print(io_, lines);
  }
  if (streams()) return show_page(io_, command_.output.html, reports_);
  const FormatOptions& format = command_.output.format;
  if (!format.json && !format.csv) io_.err << effort() << std::flush;
  return show_plans(io_, command_.output, reports_);
}

int Run::all() {
  if (const auto problem = open()) return fail(io_, *problem);
  for (const PlanQuestion& question : command_.points) {
    Result<PlanReport> report = point(question);
    if (!report) return fail(io_, report.error());
    if (streams() && !part()) {
      if (const int code = print(io_, plan_json_line(*report)); code != kDone) return code;
    }
    reports_.push_back(std::move(*report));
  }
  if (const int code = show(); code != kDone) return code;
  if (!command_.out.empty()) {
    std::error_code unknown;
    const std::uintmax_t bytes = fs::file_size(command_.out, unknown);
    if (!unknown) report_file(io_, "results", command_.out, bytes);
  }
  for (const PlanReport& report : reports_) {
    if (report.fits() || part()) return kDone;
  }
  return fail(io_, plan_refusal(command_.points.front(), reports_.front()));
}

}  // namespace

int show_plans(Io& io, const PlanOutput& output, std::span<const PlanReport> reports) {
  if (const int code = show_page(io, output.html, reports); code != kDone) return code;
  if (output.format.csv) return print(io, plans_csv(reports));
  if (!output.format.json) return print(io, plans_text(reports), output.format);
  if (reports.size() == 1 && reports.front().changes.empty()) {
    return print(io, plan_json(reports.front()));
  }
  std::string lines;
  for (const PlanReport& report : reports) lines += plan_json_line(report);
  return print(io, lines);
}

int run_points(Io& io, const PlanPoints& command) { return Run(io, command).all(); }

}  // namespace flopcast::cli
