#include "question/plan/ranking.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "flopcast/analytic/odds.h"

namespace flopcast::question {
namespace {

/// Steps of memory that measurements tell apart.
double memory_step(const PlanCandidate& c) {
  const double bytes = std::max(c.found.memory.value, 1.0);  // a file may say anything
  return std::floor(std::log(bytes) / std::log(plan_odds().tie_memory));
}

/// Of kinds of parallelism and of what else has to be set up and may go wrong.
int means(const Plan& plan) {
  int count = 0;
  for (const unsigned degree : {plan.tp, plan.tp2, plan.cp, plan.pp, plan.ep, plan.vpp}) {
    count += degree > 1 ? 1 : 0;
  }
  const bool usual = plan.schedule == ScheduleKind::kGpipe ||
                     plan.schedule == ScheduleKind::kOneFOneB ||
                     plan.schedule == ScheduleKind::kInterleaved;
  return count + (plan.pp > 1 && !usual ? 1 : 0) + static_cast<int>(plan.zero) +
         static_cast<int>(plan.recompute);
}

/// Seconds for which chips wait for transfers and for each other: what a worse network makes longer.
double waits(const PlanCandidate& c) {
  double seconds = 0;
  for (const TimePart part :
       {TimePart::kTensor, TimePart::kContext, TimePart::kExpert, TimePart::kWeights,
        TimePart::kGradients, TimePart::kBubble, TimePart::kContention}) {
    seconds += c.parts[static_cast<std::size_t>(part)].value;
  }
  return seconds;
}

auto as_fast(const PlanFound& found) { return std::tuple(found.time.value, found.number); }

auto as_taken(const PlanCandidate& c) {
  return std::tuple_cat(std::tuple(memory_step(c), means(c.found.plan), waits(c)),
                        as_fast(c.found));
}

PlanCandidate candidate_of(const PlanFound& found, const TrainingEstimate& estimate) {
  return {.found = found,
          .low = estimate.low,
          .high = estimate.high,
          .parts = estimate.parts,
          .memory = estimate.memory(),
          .tokens_per_second = estimate.tokens_per_second,
          .mfu = estimate.mfu,
          .hfu = estimate.hfu,
          .energy_j = estimate.energy_j,
          .cost_usd = estimate.cost_usd,
          .rests_on = estimate.rests_on,
          .memory_low = estimate.memory_low,
          .memory_high = estimate.memory_high,
          .fit_odds = estimate.fit_odds,
          .tie = false,
          .run = std::nullopt,
          .sensitivities = {},
          .assumed = estimate.assumed};
}

}  // namespace

std::vector<PlanFound> rankable(const PlanSearch& search) {
  std::vector<PlanFound> list = search.best;
  if (list.empty()) return list;
  const Seconds last = list.front().time * plan_odds().tie_time;
  for (const PlanFound& found : search.pareto) {
    const bool known = std::any_of(
        list.begin(), list.end(), [&](const PlanFound& one) { return one.number == found.number; });
    if (!known && found.time <= last) list.push_back(found);
  }
  std::sort(list.begin(), list.end(),
            [](const PlanFound& a, const PlanFound& b) { return as_fast(a) < as_fast(b); });
  return list;
}

void rank(std::vector<PlanCandidate>& candidates) {
  if (candidates.empty()) return;
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return as_fast(a.found) < as_fast(b.found); });
  const Seconds last = candidates.front().found.time * plan_odds().tie_time;
  const auto behind = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const PlanCandidate& c) { return c.found.time > last; });
  std::sort(candidates.begin(), behind,
            [](const auto& a, const auto& b) { return as_taken(a) < as_taken(b); });
  const bool tied = behind - candidates.begin() > 1;
  for (auto c = candidates.begin(); c != candidates.end(); ++c) c->tie = tied && c < behind;
}

void tell_first(PlanReport& report) {
  if (report.best.size() > report.asked_best) {
    report.best.erase(report.best.begin() + static_cast<std::ptrdiff_t>(report.asked_best),
                      report.best.end());
  }
  if (report.best.empty()) return;
  report.sensitivities = report.best.front().sensitivities;
  const std::vector<std::string>& assumed = report.best.front().assumed;
  report.assumed.insert(report.assumed.end(), assumed.begin(), assumed.end());
}

Result<std::vector<PlanCandidate>> ranked(const TrainingModel& training, const PlanSearch& search,
                                          const std::optional<RunQuestion>& run) {
  std::vector<PlanCandidate> list;
  for (const PlanFound& found : rankable(search)) {
    const Result<TrainingEstimate> estimate = training.estimate(found.plan, &found.placement);
    if (!estimate) return estimate.error();
    list.push_back(candidate_of(found, *estimate));
    if (!run) continue;
    const Result<WholeRun> whole = whole_run(*estimate, found.plan, training.model(), *run);
    if (!whole) return whole.error();
    list.back().run = *whole;
  }
  rank(list);
  return list;
}

}  // namespace flopcast::question
