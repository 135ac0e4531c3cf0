#include "analytic/search/rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast::analytic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlanConstraint, ReadsNumbers) {
  EXPECT_EQ(*parse_plan_constraint("pp=4"), (PlanConstraint{"pp", 4, 4, {}}));
  EXPECT_EQ(*parse_plan_constraint(" tp <= 8 "), (PlanConstraint{"tp", 0, 8, {}}));
  EXPECT_EQ(*parse_plan_constraint("dp>=2"), (PlanConstraint{"dp", 2, INT64_MAX, {}}));
  EXPECT_EQ(*parse_plan_constraint("micro-batch=1, 2"),
            (PlanConstraint{"micro_batch", 0, INT64_MAX, {"1", "2"}}));
}

TEST(PlanConstraint, ReadsChoicesInAnySpelling) {
  EXPECT_EQ(*parse_plan_constraint("recompute=none,full"),
            (PlanConstraint{"recompute", 0, INT64_MAX, {"none", "full"}}));
  EXPECT_THAT(parse_plan_constraint("schedule=Interleaved1F1B,ZBVZeroBubble")->values,
              ElementsAre("interleaved", "zb-v"));
  EXPECT_THAT(parse_plan_constraint("sequence-parallel=true")->values, ElementsAre("on"));
  EXPECT_THAT(parse_plan_constraint("context=a2a")->values, ElementsAre("ulysses"));
  EXPECT_THAT(parse_plan_constraint("precision=fp8")->values, ElementsAre("fp8"));
}

TEST(PlanConstraint, IsPrintedAsItIsRead) {
  for (const char* text : {"pp=4", "tp<=8", "dp>=2", "dp>=0", "zero=0", "micro_batch=1,2",
                           "recompute=none,full", "sequence_parallel=on", "precision=fp8_block",
                           "schedule=zb-v", "context=ulysses", "shard=8"}) {
    EXPECT_EQ(constraint_text(*parse_plan_constraint(text)), text);
  }
  EXPECT_EQ(constraint_text(*parse_plan_constraint(" context == p2p, a2a")),
            "context=ring,ulysses");
  EXPECT_EQ(*plan_constraint("micro-batch", "<=", "8"), *parse_plan_constraint("micro_batch<=8"));
}

TEST(PlanConstraint, RefusesInWords) {
  const auto refusal = [](std::string_view text) {
    const auto constraint = parse_plan_constraint(text);
    return constraint ? "" : constraint.error().text();
  };
  EXPECT_THAT(refusal("tpp=4"), HasSubstr("unknown name 'tpp' (names are tp, cp, pp, dp"));
  EXPECT_THAT(refusal("tp"), HasSubstr("has no =, <= or >="));
  EXPECT_THAT(refusal(""), HasSubstr("has no =, <= or >="));
  EXPECT_THAT(refusal("tp<8"), HasSubstr("'<' is no operator (use =, <= or >=)"));
  EXPECT_THAT(refusal("tp=four"), HasSubstr("'four' is no tp (use whole numbers"));
  EXPECT_THAT(refusal("tp=-1"), HasSubstr("'-1' is no tp"));
  EXPECT_THAT(refusal("tp=99999999999"), HasSubstr("'99999999999' is no tp"));
  EXPECT_THAT(refusal("tp<=1,2"), HasSubstr("a bound takes one number"));
  EXPECT_THAT(refusal("recompute=some"),
              HasSubstr("unknown recompute 'some' (use none, selective, full)"));
  EXPECT_THAT(refusal("schedule<=1f1b"), HasSubstr("schedule has no order"));
  EXPECT_THAT(refusal("schedule=pipedream"), HasSubstr("gpipe, 1f1b, interleaved, zb-h1"));
  EXPECT_THAT(refusal("sequence_parallel=maybe"), HasSubstr("use off, on"));
  EXPECT_THAT(refusal("precision=int3"), HasSubstr("mxfp8, nvfp4, mxfp4, int8)"));
}

Result<search::PlanRules> rules_of(std::initializer_list<std::string_view> constraints) {
  PlanSearchOptions options;
  for (const std::string_view text : constraints) {
    options.constraints.push_back(*parse_plan_constraint(text));
  }
  return search::plan_rules(options);
}

TEST(PlanRules, AllConstraintsHold) {
  const auto rules = rules_of({"tp<=8", "tp>=2", "pp=1,2,4", "pp=4,8", "recompute=none,full",
                               "recompute=full,selective", "zero>=2"});
  EXPECT_THAT(rules->tp.of({1, 2, 4, 8, 16}), ElementsAre(2, 4, 8));
  EXPECT_THAT(rules->pp.of({1, 2, 4, 8}), ElementsAre(4));
  EXPECT_THAT(rules->recomputes, ElementsAre(Recompute::kFull));
  EXPECT_THAT(rules->zeros, ElementsAre(Zero::kGradients, Zero::kWeights));
}

TEST(PlanRules, LeavesOutWhatNobodyAsksFor) {
  const auto usual = rules_of({});
  EXPECT_EQ(usual->schedules.size(), 6U);
  EXPECT_THAT(usual->precisions, ElementsAre(Precision::kBf16));
  EXPECT_THAT(usual->shards, ElementsAre(0U));
  EXPECT_THAT(rules_of({"schedule=gpipe"})->schedules, ElementsAre(ScheduleKind::kGpipe));
  EXPECT_THAT(rules_of({"precision=fp8,bf16"})->precisions,
              ElementsAre(Precision::kBf16, Precision::kFp8));
  // Each that the program knows, by its name alone.
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    const std::string text = fmt::format("precision={}", name(precision));
    const auto rules = rules_of({text});
    ASSERT_TRUE(rules) << rules.error().text();
    EXPECT_THAT(rules->precisions, ElementsAre(precision));
  }
  EXPECT_THAT(rules_of({"shard=8"})->shards, ElementsAre(8U));
  EXPECT_THAT(rules_of({"shard=0,8"})->shards, ElementsAre(0U, 8U));
}

TEST(PlanRules, NamesContradictions) {
  EXPECT_THAT(rules_of({"tp<=4", "tp>=8"}).error().text(),
              HasSubstr("no value of tp satisfies all that is asked of it"));
  EXPECT_THAT(rules_of({"pp=2", "pp=4"}).error().text(), HasSubstr("no value of pp"));
  EXPECT_THAT(rules_of({"dp=0"}).error().text(), HasSubstr("no value of dp"));
  EXPECT_THAT(rules_of({"zero=7"}).error().text(), HasSubstr("no value of zero"));
  EXPECT_THAT(rules_of({"recompute=none", "recompute=full"}).error().text(),
              HasSubstr("no value of recompute"));
  EXPECT_THAT(rules_of({"shard>=4"}).error().text(), HasSubstr("no value of shard"));
  PlanSearchOptions options;
  options.constraints = {{"colour", 1, 1, {}}};
  EXPECT_THAT(search::plan_rules(options).error().text(), HasSubstr("unknown name 'colour'"));
}

}  // namespace
}  // namespace flopcast::analytic
