// A rank made as fast as its equals.
#pragma once

#include <cstdint>
#include <vector>

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"
#include "whatif/durations/equals.h"

namespace flopcast::whatif {

/// Ranks whose own work, on the GPU or on the host, takes longer than that of the others at the same place: the
/// longest first of each, so many at most. Waiting is no work: the neighbours of a slow rank are not among
/// them because they wait for it, nor the stages of a pipeline because they wait for each other.
/// @param positions of every rank (positions_of)
std::vector<std::uint32_t> slower_ranks(const std::vector<RankPositions>& positions,
                                        std::size_t most);

/// What a rank became like.
struct Levelled {
  std::size_t equals = 0;               ///< ranks that run what it runs; 0: nothing was changed
  std::uint64_t kernels = 0, host = 0;  ///< of its tasks that have the time of the equals' median
};
/// The rank does what it does in the time of the median of its equals. How fast an equal is, is a doubt of the run.
Levelled level_rank(ChangedRun& run, const std::vector<RankPositions>& positions,
                    std::uint32_t rank);

}  // namespace flopcast::whatif
