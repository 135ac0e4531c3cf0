// What each pipeline chip keeps at its fullest moment.
#pragma once

#include <vector>

#include "analytic/step/plan_costs.h"

namespace flopcast::analytic {

std::vector<StageMemory> stage_memory(PlanCosts& costs, const Plan& plan);
/// Of the chip that keeps most.
Bytes most_memory(PlanCosts& costs, const Plan& plan);
/// The same with working tensors counted instead of played: never more.
Bytes counted_memory(PlanCosts& costs, const Plan& plan);
/// The same without working tensors: never more than that.
Bytes least_memory(PlanCosts& costs, const Plan& plan);

}  // namespace flopcast::analytic
