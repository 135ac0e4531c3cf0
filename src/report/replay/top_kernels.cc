#include <algorithm>
#include <unordered_map>

#include "flopcast/report/replay.h"

namespace flopcast {

std::vector<KernelTotal> top_kernels(const TraceSet& set, const Replay& replay, std::size_t limit) {
  struct Sum {
    std::uint64_t count = 0;
    Time recorded, replayed;
  };
  std::unordered_map<std::uint32_t, Sum> sums;
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    const Events& events = set.traces[t].events;
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (events.category[row] != Category::kKernel) continue;
      Sum& sum = sums[events.name[row]];
      ++sum.count;
      sum.recorded += replay.recorded.end[t][row] - replay.recorded.start[t][row];
      sum.replayed += replay.replayed.end[t][row] - replay.replayed.start[t][row];
    }
  }
  std::vector<KernelTotal> list;
  list.reserve(sums.size());
  for (const auto& [name, sum] : sums) {
    list.push_back({std::string(set.strings[name]), sum.count, sum.recorded, sum.replayed});
  }
  std::sort(list.begin(), list.end(), [](const KernelTotal& a, const KernelTotal& b) {
    return a.recorded != b.recorded ? a.recorded > b.recorded : a.name < b.name;
  });
  if (list.size() > limit) list.resize(limit);
  return list;
}

}  // namespace flopcast
