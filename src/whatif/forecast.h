// From a list of changes to an answer.
#pragma once

#include <vector>

#include "whatif/change/change.h"
#include "whatif/prepared.h"

namespace flopcast::whatif {

Result<WhatIfAnswer> forecast(const Prepared& prepared, const WhatIfChanges& asked,
                              const std::vector<Change>& changes);

}  // namespace flopcast::whatif
