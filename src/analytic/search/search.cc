// The search over plans as callers see it: what it is asked, scores of the model, shards merged.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analytic/search/incumbents.h"
#include "analytic/search/run.h"
#include "analytic/search/scores.h"
#include "analytic/step/check_answer.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/hardware/capability.h"

namespace flopcast {

using namespace analytic;  // the room's own names

namespace {

std::optional<Diagnostic> nonsense(const PlanSearchOptions& options, unsigned chips, unsigned all) {
  if (chips == 0 || chips > all) {
    return usage_error("world-size", fmt::format("{} chips of a cluster of {}", chips, all),
                       fmt::format("use 1 to {}", all));
  }
  if (options.global_batch < 1) {
    return usage_error("global-batch-size", fmt::format("global batch {}", options.global_batch),
                       "use at least 1");
  }
  if (options.shards < 1 || options.shard >= options.shards) {
    return usage_error("shard", fmt::format("shard {} of {}", options.shard, options.shards),
                       "shards are numbered from 0");
  }
  return odds_problem("fit-odds", options.fit_odds);
}

/// Why what was found cannot be told: the first plan whose time or memory cannot be.
std::optional<Diagnostic> check_found(const PlanSearch& found) {
  std::optional<Diagnostic> problem;
  const auto look = [&](const PlanFound& plan) {
    if (!problem) problem = check_answer(plan.time, plan.memory);
  };
  std::ranges::for_each(found.best, look);
  std::ranges::for_each(found.pareto, look);
  if (found.leanest) look(*found.leanest);
  return problem;
}

}  // namespace

Result<std::vector<Precision>> searched_precisions(const PlanSearchOptions& options) {
  Result<search::PlanRules> rules = search::plan_rules(options);
  if (!rules) return rules.error();
  return std::move(rules->precisions);
}

Result<PlanSearch> search_plans(const TrainingModel& model, const PlanSearchOptions& options) {
  const unsigned all = model.cluster().chips();
  const unsigned chips = options.chips == 0 ? all : options.chips;
  if (auto error = nonsense(options, chips, all)) return *std::move(error);
  Result<search::PlanRules> rules = search::plan_rules(options);
  if (!rules) return rules.error();
  LaunchContext launch;
  if (options.launchable) {
    launch = launch_context(*options.launchable, &model.model(), model.options().software,
                            compute_capability(model.cluster().chip).value_or(0));
  }
  const search::Space space(model.model(), options, *std::move(rules), chips, launch);
  const std::vector<unsigned> tiers = model.tiers();
  PlanSearch found = search::run(
      {space, options, tiers,
       largest_fitting(model.cluster().chip.hbm_capacity * options.memory_share, options.fit_odds),
       [&] { return search::make_scores(model); }});
  if (auto problem = check_found(found)) return *std::move(problem);
  return found;
}

PlanSearch merge_searches(std::span<const PlanSearch> shards, std::size_t best) {
  PlanSearch all;
  search::Incumbents<PlanFound> incumbents(best);
  search::Refusals refusals;
  const auto rank = [](const PlanFound& found) {
    return std::tuple(found.memory.value, found.time.value, found.number);
  };
  for (const PlanSearch& shard : shards) {
    all.plans += shard.plans;
    all.placed += shard.placed;
    all.too_big += shard.too_big;
    all.bounded += shard.bounded;
    all.timed += shard.timed;
    all.complete &= shard.complete;
    for (const PlanFound& found : shard.best) incumbents.offer_best(found);
    for (const PlanFound& found : shard.pareto) incumbents.offer_front(found);
    if (shard.leanest && (!all.leanest || rank(*shard.leanest) < rank(*all.leanest))) {
      all.leanest = shard.leanest;
    }
    refusals.add(shard.refused);
  }
  all.best = incumbents.best();
  all.pareto = incumbents.front();
  if (all.plans == 0) all.refused = refusals.list();
  return all;
}

}  // namespace flopcast
