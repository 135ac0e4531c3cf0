// How many ranks took part, from the two bandwidths that nccl-tests prints beside a time: their ratio is a function of
// the collective and the ranks alone (NVIDIA/nccl-tests, doc/PERFORMANCE.md), as far as their digits tell it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "flopcast/network/collectives.h"

namespace flopcast::network {

/// Collects rows of one table, and says which numbers of ranks all of them allow.
class RankCount {
 public:
  /// A row's bytes, and its time (microseconds) and bandwidths (GB/s) as they are printed.
  void add(double bytes, std::string_view time, std::string_view algorithm, std::string_view bus);

  struct Range {
    static constexpr std::int64_t kFewEnough = 1 << 16;
    std::int64_t least = 0, most = 0;  ///< `most` below `least`: rows that contradict each other
    bool is_one() const { return least == most && most < kFewEnough; }
    bool is_narrow() const { return least <= most && most < kFewEnough; }  ///< worth telling
    bool holds(std::int64_t ranks) const { return least <= ranks && ranks <= most; }
  };
  /// What the rows say if they are of this collective; nothing where its bandwidths tell no ranks.
  std::optional<Range> of(CollectiveOp op) const;

 private:
  double low_ = 0, high_ = 1e300;  // of bus over algorithm bandwidth
};

}  // namespace flopcast::network
