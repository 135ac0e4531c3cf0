#include "whatif/change/parent_rows.h"

#include "flopcast/replay/recording.h"

namespace flopcast::whatif {

using namespace replaying;

std::vector<std::uint32_t> parent_rows(const Trace& trace) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> parent(events.size(), kNoIndex);
  std::vector<std::vector<std::uint32_t>> open(trace.tracks.size());
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (events.category[row] != Category::kCpuOp && !is_host_call(events.category[row])) continue;
    std::vector<std::uint32_t>& stack = open[events.track[row]];
    while (!stack.empty() && events.end(stack.back()) <= events.start[row]) stack.pop_back();
    if (!stack.empty()) parent[row] = stack.back();
    stack.push_back(row);
  }
  return parent;
}

}  // namespace flopcast::whatif
