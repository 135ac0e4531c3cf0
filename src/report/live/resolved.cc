// A captured run on other clusters, for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/median.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/report/live.h"
#include "report/live/words.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string report::resolved_lines(const LiveReport& r) {
  if (!r.resolved) return {};
  const LiveResolved& from = *r.resolved;
  std::string text = fmt::format("timed again: a run on {}\n", escaped(from.cluster));
  for (const std::string& what : from.assumed) text += escaped(what) + '\n';
  if (from.differs > 0) {
    text += fmt::format(
        "{} of {} about time would have been answered otherwise here ({}):\n"
        "what the program did upon that is as there\n",
        grouped(from.differs), counted(from.asked, "question"), escaped(from.first));
  }
  return text;
}

namespace {

/// Of the first rank that has steps.
std::string step_cell(const LiveReport& r) {
  const auto found = std::find_if(r.ranks.begin(), r.ranks.end(),
                                  [](const LiveRank& rank) { return !rank.steps.empty(); });
  if (found == r.ranks.end()) return "–";
  std::vector<std::int64_t> lengths;
  for (const Time time : step_times(*found)) lengths.push_back(time.ps);
  return short_time(Time{upper_median(lengths)});
}

}  // namespace

std::string resolved_text(std::span<const ResolvedRow> rows) {
  Table table({{"cluster", Align::kLeft},
               {"virtual time"},
               {"step"},
               {"compute"},
               {"exposed transfers"},
               {"host"}});
  std::string problems, notes;
  for (const ResolvedRow& row : rows) {
    if (row.problem) {
      table.add({escaped(row.cluster), "–", "–", "–", "–", "–"});
      problems += row.problem->text() + '\n';
      continue;
    }
    const LiveReport& r = *row.report;
    const LiveTimes mean = mean_times(r.ranks);
    const auto of_window = [&mean](Time part) {
      return mean.window > Time{} ? percent(share(part, mean.window)) : std::string("–");
    };
    table.add({escaped(row.cluster), short_time(r.virtual_time), step_cell(r),
               of_window(mean.exposed_compute + mean.overlapped),
               of_window(mean.exposed_communication), of_window(mean.host_bound)});
    if (!r.resolved) continue;
    if (r.resolved->differs > 0 || !r.resolved->assumed.empty())
      notes += escaped(row.cluster) + ": " + resolved_lines(r);
  }
  return table.text() + (notes.empty() ? "" : '\n' + notes) +
         (problems.empty() ? "" : '\n' + problems);
}

}  // namespace flopcast
