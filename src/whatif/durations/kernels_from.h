// Durations of kernels out of another recording of the same program, or of one much like it.
#pragma once

#include <optional>

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Both recordings' kernels are laid side by side, stream by stream of the same rank, as a longest
/// common sequence of (name, blocks, threads). A kernel
/// - with a partner takes its time;
/// - between two partners, where the other recording has other kernels at that place, is replaced by
///   them: their time together, spread over the kernels that were there;
/// - without a place, but equal to kernels elsewhere in the other recording, takes their median;
/// - without any equal keeps its time, and is told of.
/// Communication keeps its time: most of it is waiting.
std::optional<Diagnostic> take_kernels_from(ChangedRun& run, const Change& change,
                                            const KernelsFrom& from);

/// The same of a recording that was read already.
void take_kernels_from(ChangedRun& run, const Change& change, const KernelsFrom& from,
                       const TraceSet& other, const replaying::Recording& others);

}  // namespace flopcast::whatif
