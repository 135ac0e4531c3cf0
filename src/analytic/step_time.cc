#include "analytic/step_time.h"

#include <algorithm>
#include <cmath>

namespace flopcast::training {
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

/// Everything outside the pipeline and the stragglers' share.
double finish(const PlanCosts& costs, const Plan& plan, double inside_s) {
  const Constants& c = costs.state.constants;
  const double nodes = std::max(
      1.0, std::ceil(static_cast<double>(plan.chips()) / costs.state.system->tiers.front()));
  return (inside_s + c.step_s) * (1 + c.straggler * std::log2(nodes));
}

double tail_s(const ChipTail& tail) { return tail.reduce_s + tail.optimizer_s; }

/// Share of the shorter of two passes that DualPipe runs together that is hidden: what they expose of
/// transfers, since kernels of both share one chip.
double overlapped(const Plan& plan, const StepCosts& step) {
  if (plan.schedule != ScheduleKind::kDualPipeV) return 0;
  double least = 1;
  for (const StageCost& stage : step.stages) {
    const double sent = stage.parts[static_cast<std::size_t>(TimePart::kTensor)] +
                        stage.parts[static_cast<std::size_t>(TimePart::kContext)] +
                        stage.parts[static_cast<std::size_t>(TimePart::kExpert)];
    const double shorter = std::min(stage.forward_s, backward_s(stage));
    least = std::min(least, shorter > 0 ? sent / shorter : 0);
  }
  return least;
}

std::vector<StageTime> stage_times(const StepCosts& step) {
  std::vector<StageTime> times;
  times.reserve(step.stages.size());
  for (const StageCost& s : step.stages) {
    times.push_back({{s.forward_s}, {s.input_s}, {s.weight_s}, {s.send_s}});
  }
  return times;
}

/// The schedule's own run, continued by its period where it repeats itself.
PipelineTime run_pipeline(PlanCosts& costs, const Plan& plan, const StepCosts& step) {
  const std::vector<StageTime> times = stage_times(step);
  const ScheduleEntry& entry = costs.schedule(plan);
  const double hidden = overlapped(plan, step);
  PipelineTime time = pipeline_time(entry.schedule, times, hidden);
  const std::int64_t left = plan.microbatches() - entry.schedule.microbatches;
  if (left <= 0) return time;
  const PipelineTime longer = pipeline_time(entry.longer, times, hidden);
  const double rounds = static_cast<double>(left) / static_cast<double>(entry.step);
  const auto extend = [&](Seconds& of, Seconds with_more) { of += (with_more - of) * rounds; };
  extend(time.total, longer.total);
  for (std::size_t chip = 0; chip < time.end.size(); ++chip) {
    extend(time.end[chip], longer.end[chip]);
    extend(time.busy[chip], longer.busy[chip]);
  }
  return time;
}

PipelineTime one_chip(const Plan& plan, const StepCosts& step) {
  const Seconds busy{busy_s(plan, step, 0) * static_cast<double>(plan.microbatches())};
  return {busy, {Seconds{0}}, {busy}, {busy}};
}

}  // namespace

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
  const auto rounds = static_cast<double>(plan.microbatches());
  const double hidden = overlapped(plan, step);
  double fill = 0, drain = 0, most = 0, most_tail = 0;
  for (unsigned chip = 0; chip < plan.pp; ++chip) {
    double busy = 0, forwards = 0;
    for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
      const StageCost& stage = step.stages[stage_of(plan, chip, chunk)];
      busy += stage.forward_s + backward_s(stage);
      forwards += stage.forward_s;
    }
    busy -= hidden * forwards;  // a forward is hidden once at most
    const double own_end = fill + busy * rounds;
    most = std::max(
        {most, own_end + drain + tail_s(step.tails[0]), own_end + tail_s(step.tails[chip])});
    most_tail = std::max(most_tail, tail_s(step.tails[chip]));
    const StageCost& first = step.stages[chip];
    fill += first.forward_s + first.send_s;
    // Where the last action of a chip is the backward of its first stage, all stages before follow.
    const bool drains = plan.schedule == ScheduleKind::kGpipe ||
                        plan.schedule == ScheduleKind::kOneFOneB ||
                        plan.schedule == ScheduleKind::kInterleaved;
    if (drains) drain += backward_s(first) + first.send_s;
  }
  return finish(costs, plan, step.tails[0].gather_s + most);
}

Parts step_parts(const PlanCosts& costs, const Plan& plan, const StepCosts& step,
                 const StepTime& time) {
  Parts parts{};
  const auto rounds = static_cast<double>(plan.microbatches());
  for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
    add(parts, step.stages[stage_of(plan, time.pacing, chunk)].parts, rounds);
  }
  const ChipTail& tail = step.tails[time.pacing];
  at(parts, TimePart::kWeights) += step.tails[0].gather_s;
  at(parts, TimePart::kGradients) += tail.reduce_s;
  at(parts, TimePart::kOptimizer) += tail.optimizer_s;
  at(parts, TimePart::kHost) += costs.state.constants.step_s;
  // Where DualPipe hides kernels, the parts are those of the work, and the bubble is negative.
  const double inside = sum(parts);
  const double last = step.tails[0].gather_s + time.pipeline.end[time.pacing].value + tail_s(tail) +
                      costs.state.constants.step_s;
  at(parts, TimePart::kBubble) += last - inside;
  at(parts, TimePart::kContention) += time.step_s - last;
  return parts;
}

}  // namespace flopcast::training
