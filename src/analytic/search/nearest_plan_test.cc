// What would make a plan fit: single changes first, then a search.
#include <gtest/gtest.h>

#include <algorithm>

#include "flopcast/analytic/nearest.h"

namespace flopcast::analytic {
namespace {

TrainingModel training_of(const std::string& model, const std::string& cluster,
                          const TrainingOptions& options = {}) {
  const Catalog& catalog = Catalog::builtin();
  return std::move(
      *TrainingModel::make(*load_model(model), *catalog.cluster(cluster), catalog, options));
}

Plan plan_of(unsigned tp, unsigned pp, unsigned dp, std::int64_t batch) {
  Plan plan;
  plan.tp = tp, plan.pp = pp, plan.dp = dp;
  plan.global_batch = batch;
  plan.sequence = 8192;
  plan.sequence_parallel = tp > 1;
  return plan;
}

TEST(NearestPlan, ChangesOneThingAtATimeAndKeepsTheChips) {
  Plan plan = plan_of(2, 1, 8, 64);
  plan.micro_batch = 4;
  const std::vector<Plan> leaner = leaner_plans(plan);
  ASSERT_EQ(leaner.size(), 9u);
  EXPECT_EQ(leaner[0].recompute, Recompute::kSelective);
  EXPECT_EQ(leaner[1].recompute, Recompute::kFull);
  EXPECT_EQ(leaner[2].zero, Zero::kGradients);
  EXPECT_EQ(leaner[3].zero, Zero::kWeights);
  EXPECT_EQ(leaner[4].micro_batch, 2);
  EXPECT_EQ(leaner[5].micro_batch, 1);
  EXPECT_EQ(leaner[6].tp, 4u);
  EXPECT_EQ(leaner[7].pp, 2u);
  EXPECT_EQ(leaner[8].cp, 2u);
  for (const Plan& one : leaner) EXPECT_EQ(one.chips(), plan.chips());
}

TEST(NearestPlan, NothingIsLeftToChange) {
  Plan plan = plan_of(8, 4, 1, 64);
  plan.recompute = Recompute::kFull;
  EXPECT_TRUE(leaner_plans(plan).empty());
}

TEST(NearestPlan, FindsWhatFits) {
  const TrainingModel model = training_of("llama-3-70b", "8 x dgx-h100");
  const Plan plan = plan_of(8, 1, 8, 64);
  ASSERT_FALSE(model.estimate(plan)->fits);
  const std::vector<FittingPlan> fitting = fitting_plans(model, plan);
  ASSERT_FALSE(fitting.empty());
  for (const FittingPlan& one : fitting) {
    EXPECT_TRUE(one.estimate.fits);
    EXPECT_TRUE(plan_possible(one.plan, model.model(), 64));
    EXPECT_GE(one.estimate.step, fitting.front().estimate.step);
  }
}

TEST(NearestPlan, TriesTwoChangesBeforeItSearches) {
  const TrainingModel model = training_of("llama-3-70b", "8 x dgx-h100");
  const Plan plan = plan_of(2, 2, 16, 64);
  std::vector<Plan> twice;
  for (const Plan& leaner : leaner_plans(plan)) {
    const Result<TrainingEstimate> estimate = model.estimate(leaner);
    ASSERT_FALSE(estimate && estimate->fits) << "a single change is enough";
    for (Plan& second : leaner_plans(leaner)) twice.push_back(std::move(second));
  }
  const std::vector<FittingPlan> fitting = fitting_plans(model, plan);
  ASSERT_GT(fitting.size(), 1u);
  for (const FittingPlan& one : fitting) {
    EXPECT_NE(std::ranges::find(twice, one.plan), twice.end());
    EXPECT_GE(one.estimate.step, fitting.front().estimate.step);
  }
}

TEST(NearestPlan, SearchesWhereTwoChangesAreNotEnough) {
  const TrainingModel model = training_of("llama-3-70b", "8 x dgx-h100");
  Plan plan = plan_of(1, 1, 64, 64);
  plan.zero = Zero::kNone;
  plan.sequence = 32768;
  for (const Plan& leaner : leaner_plans(plan)) {
    const Result<TrainingEstimate> estimate = model.estimate(leaner);
    ASSERT_FALSE(estimate && estimate->fits) << "a single change is enough";
    for (const Plan& second : leaner_plans(leaner)) {
      const Result<TrainingEstimate> other = model.estimate(second);
      ASSERT_FALSE(other && other->fits) << "two changes are enough";
    }
  }
  const std::vector<FittingPlan> fitting = fitting_plans(model, plan);
  ASSERT_EQ(fitting.size(), 1u);
  EXPECT_TRUE(fitting[0].estimate.fits);
  EXPECT_EQ(fitting[0].plan.chips(), 64u);
  EXPECT_EQ(fitting[0].plan.global_batch, 64);
}

TEST(NearestPlan, NothingFitsWhereThereIsNoRoom) {
  const TrainingModel model = training_of("llama-3.1-405b", "dgx-h100");
  EXPECT_TRUE(fitting_plans(model, plan_of(8, 1, 1, 8)).empty());
}

}  // namespace
}  // namespace flopcast::analytic
