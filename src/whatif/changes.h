// From what was asked to a list of changes, in the order in which they are made.
#pragma once

#include <vector>

#include "whatif/change/change.h"

namespace flopcast::whatif {

/// kUsage for what is no knob, or is written wrongly. Structure first, then order, then durations;
/// within these as given, options in the order of WhatIfChanges.
Result<std::vector<Change>> read_changes(const WhatIfChanges& asked);

}  // namespace flopcast::whatif
