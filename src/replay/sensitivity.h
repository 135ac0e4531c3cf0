// What it is worth to have a part of the work done faster.
#pragma once

#include <optional>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// Runs the graph once more for each part of the work. @param run of `assembly`, as it is.
/// Durations of the graph are changed in place and put back. Nothing where there is no GPU step.
std::optional<SensitivityTable> measure_sensitivity(const TraceSet& set, const Recording& recording,
                                                    Assembly& assembly, const Run& run);

}  // namespace flopcast::replaying
