// A rank's recording cut into stretches: which pieces and GPU tasks are of which.
#pragma once

#include <vector>

#include "whatif/structure/recorded/stretch.h"

namespace flopcast::whatif::structure {

/// One stretch as it was recorded.
struct Cut {
  std::uint32_t rank = 0;                      ///< index into the recording's ranks
  std::uint32_t segment = 0;                   ///< index into ModelStage::segments
  std::uint32_t bucket = replaying::kNoIndex;  ///< index into ModelStage::buckets
  std::uint32_t step = 0;
  std::uint32_t thread = replaying::kNoIndex;  ///< index into RankModel::threads
  std::vector<std::uint32_t> pieces;           ///< of that thread
  std::vector<std::uint32_t> tasks;            ///< index into RankModel::gpu
};

/// Of one rank, in order of launch.
std::vector<Cut> cut_rank(const replaying::Recording& recording, const ModelStage& stage);

}  // namespace flopcast::whatif::structure
