// What a step's change hides: a gain that is moved from one step to another, or work taken away that makes others wait.
#pragma once

#include <string>

#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// All steps together, those that are told but not judged included.
Time whole_run(const Judged& judged);

/// Why the judged steps' change is not the run's, in words; empty where it is. @param less the change only takes work
/// away, so that a longer step needs a reason
std::string caution_of(const Judged& before, const Judged& after, bool less);

}  // namespace flopcast::whatif
