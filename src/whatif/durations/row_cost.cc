#include "whatif/durations/row_cost.h"

#include <algorithm>
#include <vector>

#include "whatif/change/parent_rows.h"
#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Fewer operators that hold another tell nothing.
constexpr std::size_t kFewestNested = 100;
/// What a row costs of what lies between nested ones: see the header.
constexpr double kRecording = 1.5;

/// Between operators and the first and the last row in them, where that is an operator, too.
struct NestedGaps {
  std::vector<Time> before, after;
};

void find_gaps(const Trace& trace, NestedGaps& gaps) {
  const Events& events = trace.events;
  const std::vector<std::uint32_t> parents = parent_rows(trace);
  std::vector<std::uint32_t> first(parents.size(), kNoIndex), last(parents.size(), kNoIndex);
  for (std::uint32_t row = 0; row < parents.size(); ++row) {
    const std::uint32_t parent = parents[row];
    if (parent == kNoIndex) continue;
    if (first[parent] == kNoIndex) first[parent] = row;
    if (last[parent] == kNoIndex || events.end(last[parent]) < events.end(row)) last[parent] = row;
  }
  const auto is_operator = [&](std::uint32_t row) {
    return row != kNoIndex && events.category[row] == Category::kCpuOp;
  };
  for (std::uint32_t row = 0; row < parents.size(); ++row) {
    if (!is_operator(row)) continue;
    if (is_operator(first[row]))
      gaps.before.push_back(events.start[first[row]] - events.start[row]);
    if (is_operator(last[row]))
      gaps.after.push_back(std::max(Time{}, events.end(row) - events.end(last[row])));
  }
}

Time median_gap(std::vector<Time>& gaps) {
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

}  // namespace

Time operator_row_cost(const Recording& recording) {
  NestedGaps gaps;
  for (const RankModel& rank : recording.ranks) find_gaps(*rank.trace, gaps);
  if (std::min(gaps.before.size(), gaps.after.size()) < kFewestNested) return kRowCost;
  return std::min(kRowCost,
                  stretched(median_gap(gaps.before) + median_gap(gaps.after), kRecording));
}

}  // namespace flopcast::whatif
