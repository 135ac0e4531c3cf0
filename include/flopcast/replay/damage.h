// Recordings that cannot be forecast, and how to tell.
#pragma once

#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// Why the recording is not fit for a forecast, one sentence each; empty if it is.
/// - The GPU stands idle while launched work waits, for more than 5 % of a rank's window, and
///   nothing in the trace explains it: rows are missing (graphs whose kernels were not recorded),
///   or another process shares the GPU.
/// - Graph launches in the middle of the recording without any GPU row.
/// - Most of a rank's GPU tasks have neither a launch nor a predecessor.
std::vector<std::string> find_damage(const TraceSet& set, const Recording& recording,
                                     const std::vector<std::vector<Binding>>& bindings,
                                     const std::vector<LateStart>& late);

}  // namespace flopcast::replaying
