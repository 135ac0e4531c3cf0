// One step of a plan: stages, pipeline, data-parallel transfers, optimiser.
#pragma once

#include <vector>

#include "analytic/step/plan_costs.h"

namespace flopcast::analytic {

/// One virtual stage, one microbatch.
struct StageCost {
  Parts parts{};  ///< forward and backward
  double forward_s = 0, input_s = 0, weight_s = 0;
  double send_s = 0;  ///< to the next stage
  double forward_sent_s = 0,
         input_sent_s = 0;  ///< of forward_s and input_s: transfers of operators
  /// Of the least of many placements: what kernels may take less than passes without their transfers do.
  double unsure_s = 0;
  unsigned layers = 0;
};

/// What one chip of a pipeline does once a step.
struct ChipTail {
  double gather_s = 0;  ///< weights, before the first forward
  double reduce_s = 0;  ///< gradients, what outlasts the backward
  double optimizer_s = 0;
};

struct StepCosts {
  std::vector<StageCost> stages;  ///< virtual
  std::vector<ChipTail> tails;    ///< of each pipeline chip
  bool sends_wait = false;        ///< StageTime::send_alone
  std::array<double, 5> rests_on_s{};
};
/// @param layouts of the plan's groups; empty ones send nothing: a bound for every placement.
StepCosts step_costs(PlanCosts& costs, const Plan& plan, const Layouts& layouts);
inline StepCosts step_costs(PlanCosts& costs, const Plan& plan, const Placement& placement) {
  return step_costs(costs, plan, layouts_of(plan, placement));
}

/// A stage's lists on their own: what it takes besides is the host's, and sends that it waits for.
struct StageLists {
  StageCost embedding, layers, head;
};
/// A transfer of weights or gradients once a step, whatever hides of it.
struct TailTransfer {
  Transfer transfer;
  unsigned ranks = 1;
  double seconds = 0;
};
struct TailParts {
  std::vector<TailTransfer> gathers, reduces;
  double embedding_s = 0, layers_s = 0, head_s = 0;  ///< of the optimizer
};
/// What stages and tails of step_costs are made of.
struct StepPartsList {
  std::vector<StageLists> stages;  ///< virtual
  std::vector<TailParts> tails;    ///< of each pipeline chip
};
StepPartsList step_lists(PlanCosts& costs, const Plan& plan, const Placement& placement);

/// Of every virtual stage, as pipeline_time takes them.
std::vector<StageTime> stage_times(const PlanCosts& costs, const StepCosts& step);
/// What hosts lose once a step: each node's an exponential time with the mean `step_s`, of which all wait for the
/// longest. Of n such times that is the n-th harmonic number times the mean, ln n + 1 at most.
double fixed_s(const PlanCosts& costs, const Plan& plan);
/// What stragglers multiply every duration by.
double stretch(const PlanCosts& costs, const Plan& plan);

struct StepTime {
  double step_s = 0;
  PipelineTime pipeline;  ///< of the whole step; start and end of chips in its steady state
  unsigned pacing = 0;    ///< the chip that ends last
};
StepTime step_time(PlanCosts& costs, const Plan& plan, const StepCosts& step);
/// Never more than step_time's, without running the schedule.
double step_at_least(const PlanCosts& costs, const Plan& plan, const StepCosts& step);
/// Where the time of the chip with most work goes; sums to `time.step_s`.
Parts step_parts(const PlanCosts& costs, const Plan& plan, const StepCosts& step,
                 const StepTime& time);

}  // namespace flopcast::analytic
