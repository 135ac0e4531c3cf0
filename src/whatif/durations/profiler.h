// The profiler's own time taken out of the host.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Each recorded row costs the host what the profiler does at its start and at its end (row_cost.h);
/// a launch takes no longer than the quickest of the recording.
std::optional<Diagnostic> remove_profiler(ChangedRun& run, const Change& change);

/// A Python frame, where stacks are recorded. 0.13 us in a loop that does nothing else (PyTorch 2.15,
/// AMD EPYC), where nothing is ever pushed out of a cache.
inline constexpr Time kFrameCost = Time::from_ns(400);

}  // namespace flopcast::whatif
