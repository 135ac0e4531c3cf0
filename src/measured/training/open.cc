#include "measured/training/open.h"

#include <fmt/format.h>

#include "flopcast/analytic/search.h"

namespace flopcast::measured {
namespace {

/// The least recompute of none, selective and full that fits, else full.
Result<TrainingEstimate> with_recompute(const TrainingModel& model, Plan& plan) {
  Result<TrainingEstimate> last = model.estimate(plan);
  const auto attempt = [&](Recompute recompute, std::uint8_t modules) {
    if (!last || last->fits) return;
    plan.recompute = recompute;
    plan.recompute_modules = modules;
    last = model.estimate(plan);
  };
  attempt(Recompute::kSelective, kRecomputeNorm | kRecomputeActivation | kRecomputeLatentUp);
  attempt(Recompute::kSelective, kRecomputeNorm | kRecomputeActivation | kRecomputeMlp);
  attempt(Recompute::kFull, kRecomputeCoreAttention);
  return last;
}

Result<TrainingEstimate> with_micro_batch(const TrainingModel& model, const TrainingRun& run,
                                          Plan& plan) {
  const std::int64_t of_replica = plan.global_batch / plan.dp;
  Result<TrainingEstimate> best = Diagnostic{};
  for (std::int64_t size = 1; size <= of_replica && of_replica % size == 0; size *= 2) {
    Plan one = run.plan;
    one.micro_batch = size;
    Result<TrainingEstimate> next =
        run.open.recompute ? with_recompute(model, one) : model.estimate(one);
    const bool first = size == 1;
    const bool better = next && best && next->fits && !(best->fits && best->step < next->step);
    if (!first && !better) continue;
    best = std::move(next);
    plan = one;
  }
  return best;
}

/// Degrees that the number of microbatches leaves: as many replicas as chips allow.
void hold_accumulation(const TrainingRun& run, std::vector<PlanConstraint>& constraints) {
  const std::int64_t together =
      run.open.accumulation > 0 ? run.plan.global_batch / run.open.accumulation : 0;
  for (std::int64_t micro = 1; micro <= together; ++micro) {
    const std::int64_t replicas = together / micro;
    if (together % micro != 0 || replicas > run.chips || run.chips % replicas != 0) continue;
    constraints.push_back({"micro_batch", micro, micro, {}});
    constraints.push_back({"dp", replicas, replicas, {}});
    return;
  }
}

Result<TrainingEstimate> with_layout(const TrainingModel& model, const TrainingRun& run,
                                     Plan& plan) {
  PlanSearchOptions options;
  options.chips = run.chips;
  options.global_batch = run.plan.global_batch;
  options.sequence = run.plan.sequence;
  options.base = run.plan;
  options.constraints.push_back({"schedule", 0, INT64_MAX, {"1f1b", "interleaved"}});
  hold_accumulation(run, options.constraints);
  options.placements = false;
  options.fit_odds = kRanAllTheSame;
  options.best = 1;
  options.threads = 1;  // runs are forecast side by side
  const Result<PlanSearch> found = search_plans(model, options);
  if (!found) return found.error();
  if (found->best.empty()) {
    return Diagnostic{ErrorCode::kNoAnswer, run.id,
                      fmt::format("no layout on {} chips fits", run.chips), "give parallel"};
  }
  plan = found->best[0].plan;
  return model.estimate(plan);
}

}  // namespace

Result<TrainingEstimate> estimate_open(const TrainingModel& model, const TrainingRun& run,
                                       Plan& plan) {
  if (run.open.layout) return with_layout(model, run, plan);
  if (run.open.micro_batch) return with_micro_batch(model, run, plan);
  return run.open.recompute ? with_recompute(model, plan) : model.estimate(plan);
}

}  // namespace flopcast::measured
