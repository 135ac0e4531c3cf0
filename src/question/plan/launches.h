// The best plan of each launcher: what an answer tells beside the best of all.
#pragma once

#include <optional>
#include <string>

#include "flopcast/question/plan.h"

namespace flopcast::question {

/// In words: which profile a launcher's plans are priced as.
/// @param software that somebody named; empty: the launcher's usual
std::string software_words(PlanFormat launcher, const std::string& software);
/// In words: how a launcher numbers chips.
std::string launcher_placement(PlanFormat launcher);

/// Fills `launches`: of the launcher that the question names, or of every one.
/// @param training of the question
/// @param options of its search
/// Errors: as of TrainingModel::make, search_plans and TrainingModel::estimate.
std::optional<Diagnostic> find_launches(const TrainingModel& training,
                                        const PlanSearchOptions& options, PlanReport& report);

}  // namespace flopcast::question
