// What each of several changes is worth.
#pragma once

#include <vector>

#include "whatif/prepared.h"

namespace flopcast::whatif {

/// @param before, after GPU steps without any change, and with all. Nothing for a single change.
std::vector<WhatIfCause> find_causes(const Prepared& prepared, const std::vector<Change>& changes,
                                     const std::vector<std::string>& steps, Time before,
                                     Time after);

}  // namespace flopcast::whatif
