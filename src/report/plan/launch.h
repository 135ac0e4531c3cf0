// How the plans of a search are launched, on a terminal.
#pragma once

#include <string>

#include "flopcast/question/plan.h"

namespace flopcast::report {

/// The best plan of each launcher side by side, and the launch line of the one that runs the best of all, else of the
/// fastest; nothing where none was asked for.
std::string launches_text(const PlanReport& report);

}  // namespace flopcast::report
