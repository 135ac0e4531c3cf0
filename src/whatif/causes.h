// What each of several changes is worth.
#pragma once

#include <vector>

#include "whatif/apply.h"
#include "whatif/prepared.h"

namespace flopcast::whatif {

/// What has to be asked beside the question itself: its first change, its first two, and so on; then
/// all but the first, all but the second, and so on. Nothing for a single change.
std::vector<std::vector<Change>> cause_questions(const std::vector<Change>& changes);

/// @param emissions of those questions, where they share any
/// @param before, after GPU steps without any change, and with all
std::vector<WhatIfCause> find_causes(const Prepared& prepared, const Emissions& emissions,
                                     const std::vector<Change>& changes,
                                     const std::vector<std::string>& steps, Time before,
                                     Time after);

}  // namespace flopcast::whatif
