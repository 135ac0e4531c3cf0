// What a task of one rank is on another: the same row of the same step, found by name and order.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// The times of one rank by what they are of: "the third gemm of step 12".
class Positions {
 public:
  using Key = std::uint64_t;
  /// Adds the next of its key.
  void add(Key key, Time time) { times_[key].push_back(time); }
  const std::vector<Time>* find(Key key) const {
    const auto it = times_.find(key);
    return it == times_.end() ? nullptr : &it->second;
  }
  /// Calls with each key and its times, in no order.
  template <typename Each>
  void each(Each&& call) const {
    for (const auto& [key, times] : times_) call(key, times);
  }
  /// Which part of what either has both have, 0..1.
  double overlap(const Positions& other) const;

 private:
  std::unordered_map<Key, std::vector<Time>> times_;
};

/// Kernels and copies of a rank, by step, name and blocks; pieces and gaps of its host by step and
/// name. Collectives are left out: they take what all ranks make of them.
struct RankPositions {
  Positions kernels, pieces, gaps;
  std::vector<Positions::Key> kernel_key;              ///< [GPU task]; 0: left out
  std::vector<std::vector<Positions::Key>> piece_key;  ///< [thread][piece]
};
RankPositions positions_of(const ChangedRun& run, std::uint32_t rank);

/// Ranks that run the same program as this one: seven of ten kernels are the same (windows
/// of ranks begin and end at different places).
std::vector<std::uint32_t> equals_of(const std::vector<RankPositions>& ranks, std::uint32_t rank);

/// The median over `equals` of what is n-th under a key; where some have another number of them,
/// over all of them. Nothing where none has any.
std::optional<Time> time_of_equals(const std::vector<const Positions*>& equals, Positions::Key key,
                                   std::size_t n, std::size_t count);

}  // namespace flopcast::whatif
