// Changes made, one after the other.
#pragma once

#include <vector>

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// A copy of `recorded` with the changes made, in the order given: structure first, all at once.
/// Ends with the first change that is refused.
Result<ChangedRun> apply(const ChangedRun& recorded, const std::vector<Change>& changes);

}  // namespace flopcast::whatif
