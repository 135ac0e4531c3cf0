#include "analytic/step/time.h"

#include <algorithm>
#include <cmath>

namespace flopcast::analytic {
namespace {

double backward_s(const StageCost& stage) { return stage.input_s + stage.weight_s; }

/// Busy seconds of a chip for one microbatch over its chunks.
double busy_s(const Plan& plan, const StepCosts& step, unsigned chip) {
  double busy = 0;
  for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
    const StageCost& stage = step.stages[stage_of(plan, chip, chunk)];
    busy += stage.forward_s + backward_s(stage);
  }
  return busy;
}

double nodes_of(const PlanCosts& costs, const Plan& plan) {
  return std::max(1.0,
                  std::ceil(static_cast<double>(plan.chips()) / costs.state.system->tiers.front()));
}

/// Everything outside the pipeline and the stragglers' share.
double finish(const PlanCosts& costs, const Plan& plan, double inside_s) {
  return (inside_s + fixed_s(costs, plan)) * stretch(costs, plan);
}

double tail_s(const ChipTail& tail) { return tail.reduce_s + tail.optimizer_s; }

/// What running a forward of stage `a` beside a backward of stage `b` saves at most, by pass_time's rule.
double saved_s(const StageCost& a, const StageCost& b, double contention) {
  const double forward = a.forward_s, backward = backward_s(b), both = forward + backward;
  const double sent = a.forward_sent_s + b.input_sent_s;
  const double kernels = both - sent - a.unsure_s - b.unsure_s;
  return (1 - contention) * (both - std::max({forward, backward, sent, kernels}));
}

/// Seconds that a chip works at least.
double work_at_least(const PlanCosts& costs, const Plan& plan, const StepCosts& step,
                     unsigned chip) {
  const double work = busy_s(plan, step, chip) * static_cast<double>(plan.microbatches());
  if (plan.schedule != ScheduleKind::kDualPipeV) return work;
  const StageCost& there = step.stages[stage_of(plan, chip, 0)];
  const StageCost& back = step.stages[stage_of(plan, chip, 1)];
  const double contention = costs.state.constants.contention;
  const auto [first, second] = dualpipe_pairs(plan.pp, chip, plan.microbatches());
  const double pairs = static_cast<double>(first) * saved_s(there, back, contention) +
                       static_cast<double>(second) * saved_s(back, there, contention);
  // A run adds up pairs, not what they save: this must not be above it by a rounding.
  constexpr double kRounding = 1e-9;
  return (work - pairs) * (1 - kRounding);
}

/// No chip ends its microbatches earlier, whatever the order of its actions: the chips before it pass
/// it the first microbatch, it is busy for all of them, and where its last action is a backward of
/// its first stage, the chips before it follow in turn.
std::vector<double> ends_at_least(const PlanCosts& costs, const Plan& plan, const StepCosts& step) {
  std::vector<double> ends;
  double fill = 0;
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    ends.push_back(fill + work_at_least(costs, plan, step, chip));
    fill += step.stages[chip].forward_s + step.stages[chip].send_s;
  }
  const bool drains = plan.schedule == ScheduleKind::kGpipe ||
                      plan.schedule == ScheduleKind::kOneFOneB ||
                      plan.schedule == ScheduleKind::kInterleaved;
  for (unsigned chip = plan.pp - 1; drains && chip-- > 0;) {
    const StageCost& first = step.stages[chip];
    ends[chip] = std::max(ends[chip], ends[chip + 1] + backward_s(first) + first.send_s);
  }
  return ends;
}

/// The schedule's own run, continued by its period where it repeats itself.
PipelineTime run_pipeline(PlanCosts& costs, const Plan& plan, const StepCosts& step) {
  const std::vector<StageTime> times = stage_times(costs, step);
  ScheduleEntry& entry = costs.run_schedule(plan);
  const std::vector<double> least = ends_at_least(costs, plan, step);
  auto [time, longer] = entry.program->run(times);
  const std::int64_t left = plan.microbatches() - entry.microbatches;
  const double rounds = left > 0 ? static_cast<double>(left) / static_cast<double>(entry.step) : 0;
  time.total = Seconds{0};
  for (std::size_t chip = 0; chip < time.end.size(); ++chip) {
    time.end[chip] += (longer.end[chip] - time.end[chip]) * rounds;
    time.busy[chip] += (longer.busy[chip] - time.busy[chip]) * rounds;
    // The longest of many lines bends: a chip that does not pace the few microbatches may pace all.
    time.end[chip] = std::max(time.end[chip], Seconds{least[chip]});
    time.total = std::max(time.total, time.end[chip]);
  }
  return time;
}

PipelineTime one_chip(const Plan& plan, const StepCosts& step) {
  const Seconds busy{busy_s(plan, step, 0) * static_cast<double>(plan.microbatches())};
  return {busy, {Seconds{0}}, {busy}, {busy}};
}

}  // namespace

std::vector<StageTime> stage_times(const PlanCosts& costs, const StepCosts& step) {
  const double contention = costs.state.constants.contention;
  std::vector<StageTime> times;
  times.reserve(step.stages.size());
  for (const StageCost& s : step.stages) {
    times.push_back({{s.forward_s},
                     {s.input_s},
                     {s.weight_s},
                     {s.send_s},
                     {s.forward_sent_s},
                     {s.input_sent_s},
                     contention,
                     step.sends_wait});
  }
  return times;
}

double stretch(const PlanCosts& costs, const Plan& plan) {
  return 1 + costs.state.constants.straggler * std::log2(nodes_of(costs, plan));
}

double fixed_s(const PlanCosts& costs, const Plan& plan) {
  return costs.state.constants.step_s * (1 + std::log(nodes_of(costs, plan)));
}

StepTime step_time(PlanCosts& costs, const Plan& plan, const StepCosts& step) {
  StepTime time;
  time.pipeline = plan.pp == 1 ? one_chip(plan, step) : run_pipeline(costs, plan, step);
  double last = -1;
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    const double end = time.pipeline.end[chip].value + tail_s(step.tails[chip]);
    if (end > last) last = end, time.pacing = chip;
  }
  // Later stages gather their weights while they wait for their first microbatch.
  time.step_s = finish(costs, plan, step.tails[0].gather_s + last);
  return time;
}

double step_at_least(const PlanCosts& costs, const Plan& plan, const StepCosts& step) {
  const std::vector<double> ends = ends_at_least(costs, plan, step);
  double last = 0;
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    last = std::max(last, ends[chip] + tail_s(step.tails[chip]));
  }
  return finish(costs, plan, step.tails[0].gather_s + last);
}

namespace {

unsigned busiest_chip(const StepCosts& step, const StepTime& time) {
  const auto work = [&](std::size_t chip) {
    return time.pipeline.busy[chip].value + tail_s(step.tails[chip]);
  };
  unsigned busiest = 0;
  for (unsigned chip = 1; chip < step.tails.size(); ++chip) {
    if (work(chip) > work(busiest)) busiest = chip;
  }
  return busiest;
}

/// What runs beside a pass the other way (DualPipe) takes no time of its own: passes together are as long as `busy_s`. What is
/// hidden is transfers, or kernels behind transfers that are longer; what the kernels lose to them is contention.
void hide_transfers(Parts& parts, double busy_s, double contention) {
  const double saved = sum(parts) - busy_s, sent = sent_s(parts);
  constexpr double kRounding = 1e-9;
  if (saved <= kRounding * busy_s || sent <= 0) return;
  const double hidden = std::min(saved / (1 - contention), sent);
  for (const TimePart part : {TimePart::kTensor, TimePart::kContext, TimePart::kExpert}) {
    at(parts, part) *= 1 - hidden / sent;
  }
  at(parts, TimePart::kContention) += hidden - saved;
}

}  // namespace

Parts step_parts(const PlanCosts& costs, const Plan& plan, const StepCosts& step,
                 const StepTime& time) {
  Parts parts{};
  const unsigned chip = busiest_chip(step, time);
  const auto rounds = static_cast<double>(plan.microbatches());
  for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
    add(parts, step.stages[stage_of(plan, chip, chunk)].parts, rounds);
  }
  hide_transfers(parts, time.pipeline.busy[chip].value, costs.state.constants.contention);
  const ChipTail& tail = step.tails[chip];
  at(parts, TimePart::kWeights) += step.tails[0].gather_s;
  at(parts, TimePart::kGradients) += tail.reduce_s;
  at(parts, TimePart::kOptimizer) += tail.optimizer_s;
  at(parts, TimePart::kHost) += fixed_s(costs, plan);
  const double inside = sum(parts);
  const double last = step.tails[0].gather_s + time.pipeline.end[time.pacing].value +
                      tail_s(step.tails[time.pacing]) + fixed_s(costs, plan);
  constexpr double kRounding = 1e-9;
  if (last - inside > kRounding * last) at(parts, TimePart::kBubble) += last - inside;
  at(parts, TimePart::kContention) += time.step_s - last;
  return parts;
}

}  // namespace flopcast::analytic
