// Which of the plans that are as fast as anybody can tell one would take.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "flopcast/question/plan.h"

namespace flopcast::question {

/// What may come first or be among the best: the fastest that were found, and of those that nothing is
/// faster and leaner than the ones that tie with the fastest. Each plan once, fastest first.
std::vector<PlanFound> rankable(const PlanSearch& search);

/// Puts ties with the fastest first, the rest as fast as they are, and marks the ties. Among ties:
/// the leaner, where measurements tell what they need apart; then the one of fewer kinds of parallelism
/// and other means; then the one that waits less for transfers; then the faster.
/// @param candidates the estimates of rankable()
void rank(std::vector<PlanCandidate>& candidates);

/// Estimates of rankable() in the order of rank(), with what the whole run comes to if that is asked.
/// Errors: as of TrainingModel::estimate and whole_run.
Result<std::vector<PlanCandidate>> ranked(const TrainingModel& training, const PlanSearch& search,
                                          const std::optional<RunQuestion>& run);

/// Keeps as many of the best as were asked for, and tells of the report what its first one tells.
void tell_first(PlanReport& report);

}  // namespace flopcast::question
