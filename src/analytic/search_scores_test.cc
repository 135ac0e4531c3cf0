#include "analytic/search_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "analytic/search_testing.h"

namespace flopcast::search {
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

}  // namespace
}  // namespace flopcast::search
