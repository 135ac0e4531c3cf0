#include <algorithm>
#include <optional>
#include <utility>

#include "analytic/step/training_state.h"
#include "flopcast/analytic/nearest.h"
#include "flopcast/analytic/search.h"

namespace flopcast {

using namespace analytic;  // the room's own names

namespace {

template <typename Change>
void add(std::vector<Plan>& plans, const Plan& plan, Change change) {
  Plan changed = plan;
  change(changed);
  plans.push_back(std::move(changed));
}

/// Twice the degree, half the replicas.
void add_doubled(std::vector<Plan>& plans, const Plan& plan, unsigned Plan::*degree) {
  if (plan.dp % 2 != 0) return;
  add(plans, plan, [degree](Plan& p) {
    p.*degree *= 2;
    p.dp /= 2;
    p.shard = 0;
    if (degree == &Plan::pp) p.stage_layers.clear();
    if (degree == &Plan::tp) p.sequence_parallel = true;
  });
}

std::optional<FittingPlan> fitting(const TrainingModel& model, const Plan& plan) {
  if (!plan_possible(plan, model.model(), model.cluster().chips())) return std::nullopt;
  Result<TrainingEstimate> estimate = model.estimate(plan);
  if (!estimate || !estimate->fits) return std::nullopt;
  return FittingPlan{plan, std::move(*estimate)};
}

/// Those that are possible and fit; of equally fast ones in the order given.
std::vector<FittingPlan> fastest_first(const TrainingModel& model, const std::vector<Plan>& plans) {
  std::vector<FittingPlan> found;
  for (const Plan& plan : plans) {
    if (auto one = fitting(model, plan)) found.push_back(std::move(*one));
  }
  std::ranges::stable_sort(found, {},
                           [](const FittingPlan& one) { return one.estimate.step.value; });
  return found;
}

/// Every plan with one more change, each plan once.
std::vector<Plan> changed_again(const std::vector<Plan>& plans) {
  std::vector<Plan> all;
  for (const Plan& plan : plans) {
    for (Plan& second : leaner_plans(plan)) {
      if (std::ranges::find(all, second) == all.end()) all.push_back(std::move(second));
    }
  }
  return all;
}

/// Of all plans on the same chips, wherever its groups lie by default.
std::optional<FittingPlan> fastest_fitting(const TrainingModel& model, const Plan& plan) {
  PlanSearchOptions options;
  options.chips = plan.chips();
  options.global_batch = plan.global_batch;
  options.sequence = plan.sequence;
  options.base = plan;
  options.placements = false;
  options.memory_share = model.state().options.memory_share;
  options.fit_odds = model.state().options.fit_odds;
  options.best = 1;
  const Result<PlanSearch> search = search_plans(model, options);
  if (!search || search->best.empty()) return std::nullopt;
  return fitting(model, search->best.front().plan);
}

}  // namespace

std::vector<Plan> leaner_plans(const Plan& plan) {
  std::vector<Plan> plans;
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
    if (plan.recompute < recompute) add(plans, plan, [&](Plan& p) { p.recompute = recompute; });
  }
  for (const Zero zero : {Zero::kOptimizer, Zero::kGradients, Zero::kWeights}) {
    if (plan.zero < zero && plan.dp * plan.cp > 1) {
      add(plans, plan, [&](Plan& p) { p.zero = zero; });
    }
  }
  for (std::int64_t half = plan.micro_batch / 2; half >= 1; half /= 2) {
    if (plan.micro_batch % half == 0) add(plans, plan, [&](Plan& p) { p.micro_batch = half; });
  }
  for (unsigned Plan::*degree : {&Plan::tp, &Plan::pp, &Plan::cp}) add_doubled(plans, plan, degree);
  return plans;
}

std::vector<FittingPlan> fitting_plans(const TrainingModel& model, const Plan& plan) {
  const std::vector<Plan> changed = leaner_plans(plan);
  std::vector<FittingPlan> found = fastest_first(model, changed);
  if (!found.empty()) return found;
  found = fastest_first(model, changed_again(changed));
  constexpr std::size_t kMost = 5;  // nobody reads more
  if (found.size() > kMost) found.erase(found.begin() + kMost, found.end());
  if (!found.empty()) return found;
  if (auto one = fastest_fitting(model, plan)) found.push_back(std::move(*one));
  return found;
}

}  // namespace flopcast
