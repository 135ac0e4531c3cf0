// The profiler's own time taken out of the host.
#pragma once

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Each recorded row costs the host what the profiler does at its start and at its end; a launch
/// takes no longer than the quickest of the recording.
std::optional<Diagnostic> remove_profiler(ChangedRun& run, const ChangedRun& recorded,
                                          const Change& change);

/// What the profiler does for a row of an operator, an annotation, or a call: half before the row
/// begins, half after it ends.
///   "adding ~1-2 us" a kernel for the light RecordFunction around Triton kernels, on H100
///     (pytorch/pytorch#181043);
///   "4 us per op on CUDA" with its launch (pytorch/pytorch#82793, PyTorch 1.12): two rows at least.
/// For each call CUPTI keeps two records, the runtime's and that of the driver beneath it, and more
/// for calls that are recorded but not shown: cudaGetDevice, cudaGetLastError and every call of the
/// driver that launches nothing (kineto, CuptiActivityProfiler.cpp, isBlockListedRuntimeCbid and
/// handleDriverActivity).
inline constexpr Time kRowCost = Time::from_ns(2500);
/// A Python frame, where stacks are recorded. 0.13 us in a loop that does nothing else (PyTorch 2.15,
/// AMD EPYC), where nothing is ever pushed out of a cache.
inline constexpr Time kFrameCost = Time::from_ns(400);

}  // namespace flopcast::whatif
