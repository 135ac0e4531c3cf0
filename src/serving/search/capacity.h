// The fleets of all chips that hold the limits at the largest loads.
#pragma once

#include "serving/search/scorer.h"

namespace flopcast::serving {

/// Of each configuration as many replicas as there are chips for (pools apart: every share between them), those of the
/// `best` largest loads at least. `met`: scores of runs at their largest loads; `nearest`, where none holds any load:
/// at the smallest load there is, which the scorer's demand is to be of.
Result<FleetFindings> find_capacities(const FleetScorer& scorer, const FleetRules& rules,
                                      std::size_t best);

}  // namespace flopcast::serving
