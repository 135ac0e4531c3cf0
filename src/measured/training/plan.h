// What a run says of its plan, in the words of those who published it, and what is known of their launches.
#pragma once

#include <string>

#include "flopcast/measured/training.h"
#include "measured/training/fields.h"
#include "measured/training/launches.h"

namespace flopcast::measured {

/// Fills plan, software and assumptions of the run. @return why it cannot be forecast; "": it can.
std::string read_run_plan(RunFields& fields, const RunTexts& texts, const Chip& chip,
                          const LaunchRules& rules, TrainingRun& run);

}  // namespace flopcast::measured
