#include "whatif/change/stretch.h"

namespace flopcast::whatif {

void stretch_host(const replaying::Recording& recording, std::uint32_t rank, double k,
                  replaying::Durations& durations) {
  replaying::Durations::Rank& d = durations.ranks[rank];
  for (auto* threads : {&d.piece, &d.gap}) {
    for (std::vector<Time>& thread : *threads) {
      for (Time& time : thread) time = stretched(time, k);
    }
  }
  const auto& waits = recording.sync_waits[rank].waits;
  for (std::size_t w = 0; w < waits.size(); ++w) {
    if (waits[w].host_remainder) d.after_sync[w] = stretched(d.after_sync[w], k);
  }
}

Time work_of_rank(const replaying::Recording& recording, std::uint32_t rank,
                  const replaying::Durations& durations) {
  const replaying::Durations::Rank& d = durations.ranks[rank];
  Time sum;
  for (const auto* threads : {&d.piece, &d.gap}) {
    for (const std::vector<Time>& thread : *threads) {
      for (const Time time : thread) sum += time;
    }
  }
  for (const Time time : d.transfer) sum += time;
  const auto& waits = recording.sync_waits[rank].waits;
  for (std::size_t w = 0; w < waits.size(); ++w) {
    if (waits[w].host_remainder) sum += d.after_sync[w];
  }
  return sum;
}

}  // namespace flopcast::whatif
