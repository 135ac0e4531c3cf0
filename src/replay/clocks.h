// Two clocks to straighten: the GPU's against the host's, and one rank's against another's.
#pragma once

#include <vector>

#include "flopcast/replay/collectives.h"
#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// Moves GPU times so that launches take plausible time: some recordings have hundreds of kernels
/// start before their launch call does.
void align_gpu_clock(RankModel& rank);

/// Moves whole ranks so that collectives end together: by the median of each rank's end against the
/// collective's median end. @return median spread of ends over ranks afterwards.
Time align_rank_clocks(std::vector<RankModel>& ranks, std::vector<Collective>& collectives);

/// The smallest launch latency a rank shows (1st percentile, at most 35 us).
Time smallest_launch_latency(const RankModel& rank);

}  // namespace flopcast::replaying
