// Who came last, and how long the others waited for it.
#include <algorithm>
#include <map>

#include "flopcast/replay.h"

namespace flopcast {

std::size_t CollectiveInstance::last() const {
  const auto least = std::min_element(
      members.begin(), members.end(),
      [](const Member& a, const Member& b) { return a.replayed_wait < b.replayed_wait; });
  return static_cast<std::size_t>(least - members.begin());
}

bool waits_by_plan(const CollectiveInstance& collective, std::size_t member,
                   const std::vector<std::uint32_t>& stages) {
  if (collective.point_to_point) return true;
  const std::uint32_t last = collective.members[collective.last()].trace;
  return !stages.empty() && stages[last] != stages[collective.members[member].trace];
}

std::vector<WaitedFor> waited_for(const std::vector<CollectiveInstance>& collectives,
                                  const std::vector<std::uint32_t>& stages) {
  std::map<std::uint32_t, WaitedFor> by_trace;
  for (const CollectiveInstance& c : collectives) {
    if (c.members.size() < 2 || c.point_to_point) continue;
    const std::uint32_t last = c.members[c.last()].trace;
    WaitedFor& late = by_trace[last];
    late.trace = last;
    ++late.last;
    for (std::size_t m = 0; m < c.members.size(); ++m) {
      if (c.members[m].trace != last && !waits_by_plan(c, m, stages))
        late.waited += c.members[m].replayed_wait;
    }
  }
  std::vector<WaitedFor> list;
  for (const auto& [trace, late] : by_trace) list.push_back(late);
  std::stable_sort(list.begin(), list.end(),
                   [](const WaitedFor& a, const WaitedFor& b) { return a.waited > b.waited; });
  return list;
}

}  // namespace flopcast
