// Segments, units and buckets of one rank: passes cut into layers, with what every position takes.
#pragma once

#include "flopcast/replay/assembly.h"
#include "whatif/model/labels.h"

namespace flopcast::whatif {

/// Fills units, segments and buckets of the stage of `rank`.
/// @param durations recorded_durations of the recording.
void make_units(const TraceSet& set, const replaying::Recording& recording,
                const replaying::Durations& durations, const Program& program, const Passes& passes,
                const PassLabels& labels, const LayerPlan& plan, const Pipeline& pipeline,
                ModelStage& stage);

}  // namespace flopcast::whatif
