// Floor 5: what would make a plan fit into memory.
#pragma once

#include <vector>

#include "flopcast/analytic.h"

namespace flopcast {

/// Plans that differ from this one in a single choice and need less memory of each chip, in the order
/// in which people try them: recompute selective, full; ZeRO a stage higher; the microbatch halved;
/// tp, pp, cp doubled, at the cost of replicas. Some may be impossible for the model.
std::vector<Plan> leaner_plans(const Plan& plan);

/// A plan that fits, and its estimate.
struct FittingPlan {
  Plan plan;                  ///< differs from the one asked about
  TrainingEstimate estimate;  ///< of that plan
};
/// Those of leaner_plans that are possible and fit, fastest first. Where none does: the five fastest
/// of two such changes; where none of these does either: the fastest of all plans on the same chips
/// that fits. Empty: nothing fits.
std::vector<FittingPlan> fitting_plans(const TrainingModel& model, const Plan& plan);

}  // namespace flopcast
