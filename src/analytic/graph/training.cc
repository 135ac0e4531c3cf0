// The work of a step as the closed form of a TrainingModel has it.
#include <fmt/format.h>

#include <utility>

#include "analytic/step/time.h"
#include "flopcast/analytic/graph.h"
#include "flopcast/machine/training.h"

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

StageTime time_of(const analytic::StageCost& cost) {
  return {{cost.forward_s}, {cost.input_s}, {cost.weight_s}, {}};
}

std::vector<TransferFacts> facts_of(const std::vector<analytic::TailTransfer>& transfers) {
  std::vector<TransferFacts> out;
  for (const analytic::TailTransfer& t : transfers) {
    if (t.ranks > 1) out.push_back({t.transfer.op, t.transfer.size, t.ranks, {t.seconds}});
  }
  return out;
}

StepFacts facts_of(analytic::PlanCosts& costs, const Plan& plan, const Placement& placed,
                   const Schedule& schedule) {
  const analytic::StepPartsList lists = analytic::step_lists(costs, plan, placed);
  StepFacts facts;
  facts.tp = plan.tp * plan.tp2, facts.cp = plan.cp, facts.ep = plan.ep, facts.dp = plan.dp;
  const unsigned node = costs.state.system->tiers.front();
  facts.nodes = (plan.chips() + node - 1) / node;
  facts.stragglers = analytic::stretch(costs, plan) - 1;
  for (unsigned s = 0; s < lists.stages.size(); ++s) {
    const analytic::StageLists& of = lists.stages[s];
    facts.stages.push_back({schedule.chip_of(s), schedule.chunk_of(s), of.layers.layers,
                            time_of(of.embedding), time_of(of.layers), time_of(of.head)});
  }
  for (const analytic::TailParts& tail : lists.tails) {
    facts.chips.push_back({{tail.embedding_s},
                           {tail.layers_s},
                           {tail.head_s},
                           facts_of(tail.gathers),
                           facts_of(tail.reduces)});
  }
  return facts;
}

}  // namespace

Hiding usual_hiding() {
  const Chip any;
  const auto c = training_constants(any, software_name("", any));
  if (!c) return {};  // compiled in, and read by tests
  return {c->weight_overlap, c->gradient_overlap, c->contention};
}

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
  work.stages = analytic::stage_times(costs, step);
  for (const analytic::ChipTail& tail : step.tails) {
    work.chips.push_back({{tail.gather_s}, {tail.reduce_s}, {tail.optimizer_s}});
  }
  work.fixed = {analytic::fixed_s(costs, plan)};
  work.stretch = analytic::stretch(costs, plan);
  work.facts = facts_of(costs, plan, placed, work.schedule);
  return work;
}

}  // namespace flopcast
