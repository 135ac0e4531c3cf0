// Waiting against transfer, per collective.
#include <algorithm>
#include <map>
#include <utility>

#include "report/replay/summary.h"

namespace flopcast::report {
namespace {

void add_instance(CollectiveSummary& sum, const CollectiveInstance& instance) {
  ++sum.count;
  sum.ranks = std::max<std::uint64_t>(sum.ranks, instance.members.size());
  if (!instance.rendezvous) ++sum.not_rendezvous;
  sum.bytes += instance.bytes;
  for (const CollectiveInstance::Member& member : instance.members) {
    sum.wait.measured += member.recorded_wait;
    sum.wait.replayed += member.replayed_wait;
    sum.transfer.measured += member.recorded_transfer;
    sum.transfer.replayed += member.replayed_transfer;
  }
}

}  // namespace

std::vector<CollectiveSummary> summarise_collectives(const TraceSet& set, const Replay& replay) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, CollectiveSummary> sums;
  for (const CollectiveInstance& instance : replay.collectives) {
    CollectiveSummary& sum = sums[{instance.name, instance.group}];
    if (sum.count == 0) {
      sum.name = set.strings[instance.name];
      sum.group = set.strings[instance.group];
    }
    add_instance(sum, instance);
  }
  std::vector<CollectiveSummary> list;
  list.reserve(sums.size());
  for (auto& [key, sum] : sums) list.push_back(std::move(sum));
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.transfer.measured > b.transfer.measured;
  });
  return list;
}

}  // namespace flopcast::report
