// What recording a row costs the host, as far as the rows themselves tell it.
#pragma once

#include "flopcast/replay/recording.h"

namespace flopcast::whatif {

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

/// A row of an operator or an annotation: one and a half times what usually lies between the begin
/// of an operator and that of the first one in it, and between the end of the last one in it and its
/// own. Little but recording goes on there. Measured with PyTorch 2.15 on a CPU, profiled and not,
/// with shapes and without: in programs of 31 and 78 rows, a training step one of them, a row cost
/// 1.3 to 1.9 times the sum of these two medians (in loops of five rows, whose caches stay warm, 0.8
/// to 1.1). kRowCost at most, and where few operators lie in another.
Time operator_row_cost(const replaying::Recording& recording);

}  // namespace flopcast::whatif
