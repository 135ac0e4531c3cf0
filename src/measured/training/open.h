// What a run leaves open of its plan.
#pragma once

#include "flopcast/measured/training.h"

namespace flopcast::measured {

/// Odds of fitting that are asked of what is left open: the run did run, however near the edge.
inline constexpr double kRanAllTheSame = 0.5;

/// The run's step, with what is open filled in as whoever ran it would have.
/// @param plan the run's; what was open is set. Errors: those of TrainingModel::estimate; no plan fits (kNoAnswer).
Result<TrainingEstimate> estimate_open(const TrainingModel& model, const TrainingRun& run,
                                       Plan& plan);

}  // namespace flopcast::measured
