#include "cli/plan/plan_lines.h"

#include <algorithm>
#include <utility>

namespace flopcast::cli {

Result<PlanLines> PlanLines::open(const std::filesystem::path& path) {
  // The document of --json over several lines is no line of ours.
  Result<LineFile> file = LineFile::open(path, R"({"asked": {"model": ")");
  if (!file) return file.error();
  PlanLines lines(std::move(*file));
  Result<std::vector<PlanReport>> reports = read_plan_reports(lines.file_.held(), path.string());
  if (!reports) return reports.error();
  if (const auto problem = lines.file_.cut_torn_line()) return *problem;
  lines.held_ = std::move(*reports);
  for (std::size_t i = 0; i < lines.held_.size(); ++i) {
    lines.places_.emplace(question_key(lines.held_[i]), i);
  }
  return lines;
}

const PlanReport* PlanLines::find(const PlanReport& question, unsigned shard,
                                  unsigned shards) const {
  const auto [first, last] = places_.equal_range(question_key(question));
  const auto found = std::find_if(first, last, [&](const auto& place) {
    const PlanReport& held = held_[place.second];
    return held.shard == shard && held.shards == shards;
  });
  return found == last ? nullptr : &held_[found->second];
}

std::optional<Diagnostic> PlanLines::append(const PlanReport& report) {
  return file_.append(plan_json_line(report));
}

}  // namespace flopcast::cli
