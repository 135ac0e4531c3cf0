// Measured runs out of a text, without a file: what the fuzz target reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/analytic/runs.h"

namespace flopcast::analytic {

/// The JSON of read_training_runs. @param where names it in errors
Result<std::vector<TrainingRun>> parse_runs(std::string_view text, const std::string& where);

}  // namespace flopcast::analytic
