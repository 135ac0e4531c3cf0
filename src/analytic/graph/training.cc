// The work of a step as the closed form of a TrainingModel has it.
#include <fmt/format.h>

#include <utility>

#include "analytic/step/time.h"
#include "flopcast/analytic/graph.h"

namespace flopcast {
namespace {

constexpr std::int64_t kMostPasses = 20'000'000;

/// A pipeline of one chip has no schedule to choose: one microbatch after another.
Result<Schedule> schedule_of(const Plan& plan) {
  const std::int64_t passes = plan.microbatches() * plan.pp * plan.vpp * 3;
  if (passes > kMostPasses) {
    return Diagnostic{ErrorCode::kTooLarge, "schedule",
                      fmt::format("up to {} passes, too many for a graph", passes),
                      "use the closed form, or a larger micro batch"};
  }
  if (plan.pp == 1) return make_schedule(ScheduleKind::kOneFOneB, 1, plan.microbatches());
  return make_schedule(plan.schedule, plan.pp, plan.microbatches(), plan.vpp);
}

}  // namespace

Result<StepWork> step_work(const TrainingModel& model, const Plan& plan,
                           const Placement* placement) {
  const std::vector<Diagnostic> problems = plan_problems(plan, model.model());
  if (!problems.empty()) return problems.front();
  Result<Schedule> schedule = schedule_of(plan);
  if (!schedule) return schedule.error();
  analytic::PlanCosts costs(model.state());
  const Placement placed =
      placement != nullptr ? *placement : default_placement(plan, model.tiers());
  const analytic::StepCosts step = analytic::step_costs(costs, plan, placed);
  StepWork work;
  work.schedule = std::move(*schedule);
  work.stages = analytic::stage_times(step);
  for (const analytic::ChipTail& tail : step.tails) {
    work.chips.push_back({{tail.gather_s}, {tail.reduce_s}, {tail.optimizer_s}});
  }
  work.overlapped = analytic::overlapped(plan, step);
  work.fixed = {model.state().constants.step_s};
  work.stretch = analytic::stretch(costs, plan);
  return work;
}

}  // namespace flopcast
