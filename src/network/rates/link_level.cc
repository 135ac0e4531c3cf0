#include "network/rates/link_level.h"

#include <algorithm>

namespace flopcast::network::flow {

LinkLevel LinkLevel::Sorted::level(std::int64_t capacity) {
  std::sort(flows_.begin(), flows_.end(),
            [](const Flow& a, const Flow& b) { return a.level < b.level; });
  std::uint64_t weight = 0;
  for (const Flow& flow : flows_) weight += std::uint64_t{flow.weight} * flow.fraction;
  LinkLevel found;
  if (!flows_.empty()) found.top = flows_.back().level;
  std::int64_t avail = capacity;
  for (std::size_t i = 0; i < flows_.size();) {
    const Level level = flows_[i].level;
    if (const Level held = share(avail, weight); held <= level) {
      found.level = held;
      break;
    }
    for (; i < flows_.size() && flows_[i].level == level; ++i) {
      avail -= rate_at(level, flows_[i].fraction) * flows_[i].weight;
      weight -= std::uint64_t{flows_[i].weight} * flows_[i].fraction;
    }
  }
  return found;
}

}  // namespace flopcast::network::flow
