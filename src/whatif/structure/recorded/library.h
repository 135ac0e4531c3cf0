// All stretches of a recording, and the program of each recorded rank told in them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "whatif/structure/recorded/stretch.h"

namespace flopcast::whatif::structure {

/// A stretch where it was recorded.
struct RecordedStretch {
  std::uint32_t stretch = 0;                   ///< index into Library::stretches
  std::uint32_t segment = 0;                   ///< index into ModelStage::segments
  std::uint32_t bucket = replaying::kNoIndex;  ///< index into ModelStage::buckets
};

/// Where an annotation of a step begins and ends against the host's work in it.
struct StepFrame {
  Samples lead;     ///< from its start to the first piece
  Samples trail;    ///< from the last piece to its end
  Samples between;  ///< from its end to the next one's start
};

/// See the head of this file.
struct Library {
  std::vector<Stretch> stretches;
  /// [rank][step]: in order of launch; a bucket stands where it was launched, to the nearest end
  /// of the segment around it.
  std::vector<std::vector<std::vector<RecordedStretch>>> programs;
  std::vector<double> host_speed, gpu_speed;  ///< of each rank: its times over the usual ones
  replaying::Lags::Rank lags;                 ///< typical: medians over ranks
  Time launch_latency;                        ///< the smallest: median over ranks
  std::map<std::pair<std::uint32_t, std::uint32_t>, Samples> hand_overs;  ///< by threads: from, to
  StepFrame frame;
  /// Of backward stretches: that of the inputs' gradients and that of the weights', where they were
  /// taken apart (split_backward).
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> halves;
  /// A bucket made after another collective, where no gradients were reduced (make_bucket).
  std::optional<std::uint32_t> made_bucket;
  double made_bucket_bytes = 0;  ///< of a layer's gradients, on one rank
  Time kernel_floor;             ///< what the shortest kernels take: launch and start alone
};

Library make_library(const TraceSet& set, const replaying::Recording& recording,
                     const TraceModel& model, const RankGrid& grid);

}  // namespace flopcast::whatif::structure
