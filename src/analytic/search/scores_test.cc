#include "analytic/search/scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "analytic/search/testing.h"
#include "flopcast/analytic/odds.h"

namespace flopcast::analytic::search {
namespace {

/// A model on a cluster, with the plans of a small search.
struct Scored {
  Scored(const char* name, const char* on, std::int64_t batch, std::int64_t sequence,
         std::vector<std::string> constraints)
      : model(std::move(*TrainingModel::make(*load_model(name), *Catalog::builtin().cluster(on),
                                             Catalog::builtin()))) {
    search.model = model.model();
    search.chips = model.cluster().chips();
    search.tiers = model.tiers();
    search.options.global_batch = batch;
    search.options.sequence = sequence;
    for (const std::string& text : constraints) {
      search.options.constraints.push_back(*parse_plan_constraint(text));
    }
  }
  TrainingModel model;
  SmallSearch search;
};

std::vector<Scored> scored_models() {
  std::vector<Scored> all;
  all.emplace_back("llama-3-8b", "2 x dgx-h100", 24, 4096,
                   std::vector<std::string>{"tp<=4", "micro_batch<=2"});
  all.emplace_back(
      "gpt-3-1.3b", "2 x dgx-h100", 64, 2048,
      std::vector<std::string>{"tp<=4", "cp<=4", "schedule=gpipe,interleaved,dualpipev"});
  all.emplace_back("mixtral-8x7b", "2 x dgx-h100", 8, 4096,
                   std::vector<std::string>{"tp<=2", "cp<=2", "context=ring", "recompute=none"});
  return all;
}

TEST(PlanScores, MemoryIsBoundedAsItIsCounted) {
  for (const Scored& scored : scored_models()) {
    const std::unique_ptr<Scores> scores = make_scores(scored.model);
    std::uint64_t above = 0, below = 0, tighter = 0;
    for (const NumberedPlan& one : all_plans(scored.search.space())) {
      const Bytes least = scores->memory_at_least(one.plan);
      const Bytes counted = scores->memory_counted(one.plan);
      above += counted > scores->memory(one.plan);
      below += counted < least;
      tighter += counted > least;
    }
    EXPECT_EQ(above, 0U) << scored.search.model.name;
    EXPECT_EQ(below, 0U) << scored.search.model.name;
    EXPECT_GT(tighter, 1000U) << scored.search.model.name;
  }
}

TEST(PlanScores, BoundsAreBelowTimes) {
  for (const Scored& scored : scored_models()) {
    const std::unique_ptr<Scores> scores = make_scores(scored.model);
    std::uint64_t plans = 0, above = 0, above_all = 0;
    for (const NumberedPlan& one : all_plans(scored.search.space())) {
      const std::vector<Placement> placed = placements(one.plan, scored.search.tiers);
      const double all_at_least = scores->time_at_least(one.plan, std::span(placed)).value;
      for (const Placement& placement : placed) {
        const double time = scores->time(one.plan, placement).value;
        above += scores->time_at_least(one.plan, placement).value > time;
        above_all += all_at_least > time;
        EXPECT_GT(all_at_least, 0);
      }
      ++plans;
    }
    EXPECT_GT(plans, 1000U) << scored.search.model.name;
    EXPECT_EQ(above, 0U) << scored.search.model.name;
    EXPECT_EQ(above_all, 0U) << scored.search.model.name;
  }
}

/// What was asked before changes nothing, and estimate says the same.
TEST(PlanScores, AreThoseOfEstimate) {
  for (const Scored& scored : scored_models()) {
    const std::unique_ptr<Scores> scores = make_scores(scored.model);
    const std::vector<NumberedPlan> plans = all_plans(scored.search.space());
    const std::size_t step = std::max<std::size_t>(1, plans.size() / 97);
    for (std::size_t i = 0; i < plans.size(); i += step) {
      const Plan& plan = plans[i].plan;
      const Placement placement = placements(plan, scored.search.tiers).back();
      const auto estimate = scored.model.estimate(plan, &placement);
      ASSERT_TRUE(estimate.ok());
      EXPECT_EQ(scores->time(plan, placement).value, estimate->step.value);
      EXPECT_EQ(scores->memory(plan).value, estimate->memory().total().value);
    }
  }
}

/// What a plan may be forecast to need.
Bytes usable(const Scored& scored, const PlanSearchOptions& options) {
  const Bytes capacity = scored.model.cluster().chip.hbm_capacity * options.memory_share;
  return largest_fitting(capacity, options.fit_odds);
}

/// Every plan at its fastest placement, by nothing but time and memory.
std::vector<PlanFound> all_timed(const Scored& scored, const PlanSearchOptions& options) {
  const std::unique_ptr<Scores> scores = make_scores(scored.model);
  std::vector<PlanFound> all;
  for (const NumberedPlan& one : all_plans(scored.search.space())) {
    const Bytes memory = scores->memory(one.plan);
    if (memory > usable(scored, options)) continue;
    PlanFound found{one.plan, {}, Seconds{1e300}, memory, one.number};
    for (const Placement& placement : placements(one.plan, scored.search.tiers)) {
      const Seconds time = scores->time(one.plan, placement);
      if (time < found.time) found.time = time, found.placement = placement;
    }
    all.push_back(std::move(found));
  }
  return all;
}

std::vector<std::uint64_t> numbers(const std::vector<PlanFound>& all) {
  std::vector<std::uint64_t> out;
  for (const PlanFound& found : all) out.push_back(found.number);
  return out;
}

// The whole search against all plans timed, of models with and without experts.
TEST(PlanSearch, OfRealModelsEqualsBruteForce) {
  for (const Scored& scored : scored_models()) {
    PlanSearchOptions options = scored.search.options;
    options.memory_share = scored.search.model.kinds.front().experts.count > 0 ? 0.8 : 0.48;
    const auto found = search_plans(scored.model, options);
    ASSERT_TRUE(found.ok());
    std::vector<PlanFound> all = all_timed(scored, options);
    ASSERT_GT(all.size(), 2 * options.best);
    EXPECT_LT(all.size(), found->plans);
    const double capacity = usable(scored, options).value;
    const std::unique_ptr<Scores> scores = make_scores(scored.model);
    const auto cannot_fit = [&](const NumberedPlan& one) {
      return scores->memory_at_least(one.plan).value > capacity;
    };
    const auto too_big = std::ranges::count_if(all_plans(scored.search.space()), cannot_fit);
    EXPECT_EQ(found->too_big, static_cast<std::uint64_t>(too_big));
    EXPECT_LE(all.size(), found->plans - found->too_big);
    std::ranges::sort(all, {}, [](const PlanFound& f) {
      return std::tuple(f.time.value, f.memory.value, f.number);
    });
    std::vector<PlanFound> front;
    for (const PlanFound& one : all) {
      if (front.empty() || one.memory < front.back().memory) front.push_back(one);
    }
    EXPECT_EQ(numbers(found->pareto), numbers(front)) << scored.search.model.name;
    std::ranges::sort(all, {},
                      [](const PlanFound& f) { return std::tuple(f.time.value, f.number); });
    all.resize(options.best);
    EXPECT_EQ(numbers(found->best), numbers(all)) << scored.search.model.name;
    EXPECT_EQ(found->best.front().placement, all.front().placement);
    EXPECT_EQ(found->best.front().time.value, all.front().time.value);
  }
}

// GPipe runs all forwards before the first backward.
TEST(PlanScores, GpipeKeepsEveryMicrobatch) {
  const Scored scored("gpt-3-1.3b", "1 x dgx-h100", 64, 2048, {});
  const std::unique_ptr<Scores> scores = make_scores(scored.model);
  Plan plan;
  plan.pp = 8, plan.global_batch = 64, plan.sequence = 2048;
  plan.schedule = ScheduleKind::kGpipe;
  const auto bytes = [&](std::int64_t batch) {
    plan.global_batch = batch;
    return scores->memory(plan).value;
  };
  EXPECT_NEAR((bytes(256) - bytes(128)) / (bytes(128) - bytes(64)), 2, 1e-9);
}

}  // namespace
}  // namespace flopcast::analytic::search
