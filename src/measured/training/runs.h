// Measured runs out of a text, without a file: what the fuzz target reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/measured/training.h"

namespace flopcast::measured {

/// The JSON of read_training_runs. @param where names it in errors
Result<std::vector<TrainingRun>> parse_runs(std::string_view text, const std::string& where,
                                            const RunReading& reading = {});

}  // namespace flopcast::measured
