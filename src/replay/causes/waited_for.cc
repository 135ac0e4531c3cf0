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

std::vector<WaitedFor> waited_for(const std::vector<CollectiveInstance>& collectives) {
  std::map<std::uint32_t, WaitedFor> by_trace;
  for (const CollectiveInstance& c : collectives) {
    if (c.members.size() < 2 || c.point_to_point) continue;
    const CollectiveInstance::Member& last = c.members[c.last()];
    WaitedFor& late = by_trace[last.trace];
    late.trace = last.trace;
    ++late.last;
    for (const CollectiveInstance::Member& m : c.members) {
      if (m.trace != last.trace) late.waited += m.replayed_wait;
    }
  }
  std::vector<WaitedFor> list;
  for (const auto& [trace, late] : by_trace) list.push_back(late);
  std::stable_sort(list.begin(), list.end(),
                   [](const WaitedFor& a, const WaitedFor& b) { return a.waited > b.waited; });
  return list;
}

}  // namespace flopcast
