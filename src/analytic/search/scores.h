// Scores of a training model for searches: PlanScorer's numbers, and a bound for all placements of a
// plan at once.
//
// That bound takes the least time that any of the placements gives each list of operators (a layer
// of each kind, embedding, head), and runs the bound of one placement with these. Sends between
// stages, weights and gradients of replicas and the optimiser are left out. So it depends on
// Execution, pp and vpp only, and is there at once for every schedule and sharding of them.
#pragma once

#include <memory>

#include "analytic/search/run.h"

namespace flopcast::analytic::search {

/// @param model must outlive the scores.
std::unique_ptr<Scores> make_scores(const TrainingModel& model);

}  // namespace flopcast::analytic::search
