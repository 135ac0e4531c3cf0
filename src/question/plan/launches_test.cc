// The best plan of each launcher: found as a search of its own plans finds it, told whole, read back and merged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/parallel/files.h"
#include "flopcast/question/plan.h"
#include "support/plan_question.h"

namespace flopcast {
namespace {

using test::answered;
using test::plan_question;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PlanQuestion launched(PlanFormat launcher) {
  PlanQuestion q = plan_question();
  q.launchable = launcher;
  return q;
}

TEST(PlanLaunches, AreTheBestThatEachLauncherRuns) {
  const PlanReport all = answered(plan_question());
  ASSERT_EQ(all.launches.size(), 3U);
  for (const PlanLaunch& one : all.launches) {
    const PlanReport own = answered(launched(one.launcher));
    ASSERT_TRUE(one.best && own.fits()) << name(one.launcher);
    EXPECT_EQ(one.best->time, own.best.front().found.time) << name(one.launcher);
    EXPECT_EQ(one.best->plan, own.best.front().found.plan) << name(one.launcher);
    EXPECT_EQ(one.software, own.software);
    ASSERT_EQ(own.launches.size(), 1U);
    EXPECT_EQ(own.launches.front().launch, one.launch);
    EXPECT_THAT(one.launch.lost, IsEmpty());
  }
}

TEST(PlanLaunches, ArePricedAsTheirSoftwareAndSaySo) {
  const PlanReport titan = answered(launched(PlanFormat::kTorchtitan));
  EXPECT_EQ(titan.software, "fsdp-compiled");
  EXPECT_FALSE(titan.placements);
  EXPECT_THAT(titan.assumed, Contains("torchtitan 0.2.2: priced as fsdp-compiled"));
  EXPECT_THAT(titan.assumed, Contains(HasSubstr("numbers chips with tp innermost")));
  EXPECT_THAT(titan.launches.front().assumed, Contains(HasSubstr("priced as fsdp-compiled")));
  PlanQuestion named = launched(PlanFormat::kTorchtitan);
  named.training.software = "megatron";
  const PlanReport other = answered(named);
  EXPECT_EQ(other.software, "megatron");
  EXPECT_THAT(other.assumed, Contains(HasSubstr("which it does not behave as")));
  EXPECT_NE(other.best.front().found.time, titan.best.front().found.time);
}

TEST(PlanLaunches, AreWrittenAndReadBack) {
  const PlanReport r = answered(plan_question());
  const auto back = read_plan_reports(plan_json_line(r), "test");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(plan_json(back->front()), plan_json(r));
  ASSERT_EQ(back->front().launches.size(), 3U);
  EXPECT_EQ(back->front().launches[1].launch, r.launches[1].launch);
  std::string text = plan_json_line(r);
  text.replace(text.find("\"launcher\": \"torchtitan\""), 24, "\"launcher\": \"nobody\"    ");
  EXPECT_FALSE(read_plan_reports(text, "test"));
}

TEST(PlanLaunches, WhatNoLauncherRunsIsSaidWithItsReason) {
  PlanQuestion q = plan_question();
  q.constraints = {*parse_plan_constraint("schedule=zb-h1"), *parse_plan_constraint("pp=2")};
  const PlanReport whole = answered(q);
  ASSERT_TRUE(whole.fits());
  for (const PlanLaunch& one : whole.launches) {
    EXPECT_FALSE(one.best) << name(one.launcher);
    EXPECT_THAT(why_none(one), HasSubstr("cannot run")) << name(one.launcher);
  }
  EXPECT_THAT(why_none(whole.launches.front()), HasSubstr("cannot run the schedule zb-h1"));
  std::vector<PlanReport> parts;
  for (unsigned i = 0; i < 3; ++i) {
    const auto read = read_plan_reports(plan_json_line(answered(q, i, 3)), "shard");
    ASSERT_TRUE(read) << read.error().text();
    parts.push_back(read->front());
  }
  const Result<PlanReport> merged = merge_plans(parts);
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(plan_json(*merged), plan_json(whole));
}

TEST(PlanLaunches, AReasonThatHoldsOfEveryPlanIsTheOneThatIsSaid) {
  PlanQuestion q = plan_question();
  q.base.precision = Precision::kFp8;
  const PlanReport r = answered(q);
  ASSERT_EQ(r.launches.size(), 3U);
  EXPECT_EQ(why_none(r.launches.back()), "cannot run the precision fp8");
}

TEST(PlanLaunches, ANamedChoiceIsKeptAndTheRestLeftOut) {
  PlanQuestion q = launched(PlanFormat::kDeepspeed);
  const PlanReport free = answered(q);
  const Result<PlanQuestion> named = with_settings(
      q,
      {{"overlap", "gradients,weights,pipeline,context"}, {"global_batch", "64"}, {"seq", "2048"}});
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_THAT(named->named, Contains("overlap"));
  const PlanReport kept = answered(*named);
  ASSERT_TRUE(free.fits() && kept.fits());
  // Weights are gathered ahead in ZeRO 3 alone.
  const PlanReport all = answered(plan_question());
  EXPECT_THAT(all.launches.front().assumed, Not(Contains(HasSubstr("by itself"))));
  q.constraints = {*parse_plan_constraint("zero=1")};
  EXPECT_THAT(answered(q).launches.front().assumed,
              Contains("DeepSpeed 0.19 does so by itself: overlap_weights false"));
  for (const PlanCandidate& c : kept.best) EXPECT_EQ(c.found.plan.zero, Zero::kWeights);
}

TEST(PlanLaunches, OfAChangedMachineAreNotLookedFor) {
  PlanQuestion q = plan_question();
  q.changes = {{"n", "8"}};
  EXPECT_THAT(answered(q).launches, IsEmpty());
}

}  // namespace
}  // namespace flopcast
