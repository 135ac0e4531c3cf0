// Neighbours on a stream made one kernel.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Runs of kernels whose names match the regular expression, one after the other on a stream and
/// launched by one thread in one step, become one: a single launch, and no trip to memory between
/// them where shapes tell what that was.
std::optional<Diagnostic> add_fusion(ChangedRun& run, const Change& change, const Fuse& asked);

}  // namespace flopcast::whatif
