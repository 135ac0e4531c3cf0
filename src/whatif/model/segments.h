// Passes cut into segments, and each segment's part of its thread.
#pragma once

#include "whatif/model/labels.h"

namespace flopcast::whatif {

/// Cuts a rank's stretches into segments, groups them into units, and places its buckets: fills
/// ModelStage::segments, units (kernels without times) and buckets.
void make_segments(const replaying::RankModel& rank, const Program& program, const Passes& passes,
                   const PassLabels& labels, const LayerPlan& plan, const Pipeline& pipeline,
                   ModelStage& stage);

/// Gives every segment its pieces of its thread.
void cut_pieces(const replaying::RankModel& rank,
                const std::vector<replaying::ThreadEdge>& thread_edges, ModelStage& stage);

}  // namespace flopcast::whatif
