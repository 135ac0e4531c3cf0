// What it is worth to have a part of the work done faster.
#pragma once

#include <optional>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// Runs the graph once more for each part of the work, on so many threads (0: all cores). @param run
/// of `assembly`, as it is. Nothing where there is no GPU step.
std::optional<SensitivityTable> measure_sensitivity(const TraceSet& set, const Recording& recording,
                                                    const Assembly& assembly, const Run& run,
                                                    unsigned threads);

}  // namespace flopcast::replaying
