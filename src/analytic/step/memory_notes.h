// What a chip keeps that falls or grows against expectation: why, and how much.
#pragma once

#include <string>
#include <vector>

#include "analytic/step/plan_costs.h"

namespace flopcast::analytic {

/// Of the fullest stage, in words with sizes: holes of the allocator, which depend on how tensors fit into each other; weights
/// that ZeRO 3 gathers whole. Nothing where neither is a hundredth of what is kept.
std::vector<std::string> memory_notes(PlanCosts& costs, const Plan& plan, unsigned fullest,
                                      const StageMemory& memory);

}  // namespace flopcast::analytic
