#include "replay/clocks.h"

#include <algorithm>

#include "base/numeric/median.h"

namespace flopcast::replaying {
namespace {

/// The smallest time a launch takes from call to kernel on any GPU recorded so far.
constexpr Time kLeastLaunch = Time::from_us(4);

/// Start of each call's first GPU task since the call's start, sorted.
std::vector<Time> launch_latencies(const RankModel& rank) {
  std::vector<Time> latencies;
  for (const Call& call : rank.calls) {
    if (!call.gpu.empty()) latencies.push_back(rank.gpu[call.gpu.front()].start - call.start);
  }
  std::sort(latencies.begin(), latencies.end());
  return latencies;
}

}  // namespace

void align_gpu_clock(RankModel& rank) {
  const std::vector<Time> latencies = launch_latencies(rank);
  if (latencies.empty()) return;
  // The 0.5th percentile, not the smallest: single rows are off by more than the clocks are.
  const Time low = latencies[latencies.size() / 200];
  if (low < kLeastLaunch) shift_gpu(rank, kLeastLaunch - low);
}

Time smallest_launch_latency(const RankModel& rank) {
  const std::vector<Time> latencies = launch_latencies(rank);
  // More is backlog: Nvidia GPUs show 4 to 12 us, AMD up to 31.
  constexpr Time kMost = Time::from_us(35);
  if (latencies.empty()) return kLeastLaunch;
  return std::clamp(latencies[latencies.size() / 100], Time{}, kMost);
}

Time align_rank_clocks(std::vector<RankModel>& ranks, std::vector<Collective>& collectives) {
  std::vector<std::vector<Time>> off(ranks.size());
  const auto end = [&](const CollectiveMember& m) { return ranks[m.rank].gpu[m.task].end; };
  for (const Collective& c : collectives) {
    std::vector<Time> ends;
    for (const CollectiveMember& m : c.members) ends.push_back(end(m));
    const Time middle = upper_median(ends);
    for (const CollectiveMember& m : c.members) off[m.rank].push_back(middle - end(m));
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!off[r].empty()) shift_all(ranks[r], upper_median(off[r]));
  }
  std::vector<Time> spreads;
  for (const Collective& c : collectives) {
    Time first = Time::max();
    Time last = Time::min();
    for (const CollectiveMember& m : c.members) {
      first = std::min(first, end(m));
      last = std::max(last, end(m));
    }
    spreads.push_back(last - first);
  }
  return upper_median(spreads);
}

}  // namespace flopcast::replaying
