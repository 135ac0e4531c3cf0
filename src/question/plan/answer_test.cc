// Answers to searches: written and read back, cut and merged; why there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/question/plan.h"
#include "support/plan_question.h"

namespace flopcast {
namespace {

using test::answered;
using test::plan_question;
using testing::HasSubstr;
using testing::Not;

std::vector<PlanConstraint> constraints(std::initializer_list<std::string_view> texts) {
  std::vector<PlanConstraint> list;
  for (const std::string_view text : texts) list.push_back(*parse_plan_constraint(text));
  return list;
}

TEST(PlanReport, FindsPlansAndEstimatesThem) {
  const PlanReport r = answered(plan_question());
  ASSERT_EQ(r.best.size(), 5U);
  EXPECT_EQ(r.chips, 16U);
  EXPECT_GT(r.search.placed, r.search.plans);
  for (const PlanCandidate& c : r.best) {
    EXPECT_GE(c.found.time, r.search.pareto.front().time);
    EXPECT_GE(c.fit_odds, 0.9);
    EXPECT_LT(c.memory_low, c.found.memory);
    EXPECT_GT(c.memory_high, c.found.memory);
    EXPECT_EQ(c.found.plan.chips(), 16U);
    EXPECT_EQ(c.found.memory, c.memory.total());
    EXPECT_LE(c.low, c.found.time);
    EXPECT_GE(c.high, c.found.time);
    EXPECT_GT(c.mfu, 0);
    // 64 sequences of 2,048 tokens.
    EXPECT_NEAR(c.tokens_per_second * c.found.time.value, 64 * 2048, 1e-6 * 64 * 2048);
  }
}

TEST(PlanReport, ReadsBackWhatItWrites) {
  PlanQuestion q = plan_question();
  q.constraints = constraints({"tp<=4", "recompute=none,full"});
  q.changes = {{"n", "8"}, {"chip", "h200"}, {"hbm-bandwidth", "2x"}};
  const PlanReport r = answered(q);
  for (const std::string& text : {plan_json(r), plan_json_line(r)}) {
    const auto back = read_plan_reports(text, "test");
    ASSERT_TRUE(back) << back.error().text();
    ASSERT_EQ(back->size(), 1U);
    EXPECT_EQ(plan_json(back->front()), plan_json(r));
    EXPECT_EQ(question_key(back->front()), question_key(r));
    EXPECT_EQ(back->front().search.best.front().placement, r.search.best.front().placement);
    EXPECT_EQ(back->front().best.front().found.plan, r.best.front().found.plan);
    // Not a bit is lost: ties between shards are broken as in the whole search.
    EXPECT_EQ(back->front().best.back().found.time, r.best.back().found.time);
  }
  const std::string line = plan_json_line(r);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(PlanReport, ChipsMustMultiplyInEveryPrecisionThatIsSearched) {
  PlanQuestion q = plan_question();
  q.constraints = constraints({"precision=bf16,nvfp4"});
  const Result<PlanReport> refused = answer(q);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().text(), HasSubstr("does not multiply in nvfp4"));
  q.constraints = constraints({"precision=bf16,fp8"});
  EXPECT_TRUE(answer(q));
}

// A Blackwell multiplies in all of them; a plan in one is not told of another.
TEST(PlanReport, EveryPrecisionIsSearchedAndAnsweredAsItself) {
  PlanQuestion q = plan_question();
  q.cluster = "1 x dgx-b200";
  q.best = 1;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    q.base.precision = precision;
    q.constraints = constraints({"tp=1", "pp=1"});
    const PlanReport base = answered(q);
    q.base.precision = Precision::kBf16;
    q.constraints.push_back(*plan_constraint("precision", "=", name(precision)));
    const PlanReport listed = answered(q);
    ASSERT_EQ(base.best.size(), 1U) << name(precision);
    ASSERT_EQ(listed.best.size(), 1U) << name(precision);
    EXPECT_EQ(listed.best[0].found.plan.precision, precision);
    EXPECT_EQ(listed.best[0].found.time, base.best[0].found.time) << name(precision);
    EXPECT_EQ(listed.best[0].mfu, base.best[0].mfu) << name(precision);
  }
}

TEST(PlanReport, SaysWhichLineIsDamaged) {
  const std::string line = plan_json_line(answered(plan_question()));
  const auto error_of = [](const std::string& text) {
    const auto read = read_plan_reports(text, "file");
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error_of(line + line.substr(0, 500) + '\n'), HasSubstr("file:2: this is no JSON"));
  EXPECT_THAT(error_of("{}\n"), HasSubstr("'asked' is missing"));
  const auto replaced = [&](std::string from, std::string_view to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(error_of(replaced("\"chips\": 16", "\"chips\": -16")), HasSubstr("'chips'"));
  EXPECT_THAT(error_of(replaced("\"chips\": 16", "\"chips\": 99999999999")), HasSubstr("'chips'"));
  EXPECT_THAT(error_of(replaced("\"schedule\": \"1f1b\"", "\"schedule\": \"fast\"")),
              HasSubstr("no choice 'fast'"));
  EXPECT_THAT(error_of(replaced("\"best\": [{", "\"best\": [{\"time_s\": null}, {")),
              HasSubstr("'time_s'"));
}

TEST(PlanReport, ShardsMergeToTheSameBytes) {
  for (const std::string_view kind : {"free", "constrained"}) {
    PlanQuestion q = plan_question();
    const bool free = kind == "free";
    if (!free) q.constraints = constraints({"pp=2", "tp<=8"});
    const PlanReport whole = answered(q);
    for (const unsigned shards : free ? std::vector{1U, 10U} : std::vector{3U}) {
      std::vector<PlanReport> parts;
      for (unsigned i = shards; i-- > 0;) {  // in any order, through text
        const auto read = read_plan_reports(plan_json_line(answered(q, i, shards)), "shard");
        ASSERT_TRUE(read) << read.error().text();
        parts.push_back(read->front());
      }
      const Result<PlanReport> merged = merge_plans(parts);
      ASSERT_TRUE(merged) << merged.error().text();
      EXPECT_TRUE(plan_json(*merged) == plan_json(whole)) << shards << " shards, " << kind;
    }
  }
}

TEST(PlanReport, DoesNotDependOnThreads) {
  const PlanReport one = answered(plan_question());
  const Result<PlanReport> four = answer(plan_question(), {4, 0, 1, {}});
  ASSERT_TRUE(four);
  EXPECT_EQ(plan_json(*four), plan_json(one));
}

TEST(PlanReport, RefusesShardsThatAreNoWhole) {
  const std::vector<PlanReport> parts = {answered(plan_question(), 0, 3),
                                         answered(plan_question(), 1, 3),
                                         answered(plan_question(), 2, 3)};
  const auto error_of = [](std::vector<PlanReport> shards) {
    const Result<PlanReport> merged = merge_plans(shards);
    return merged ? std::string("merged") : merged.error().text();
  };
  EXPECT_EQ(error_of(parts), "merged");
  EXPECT_THAT(error_of({}), HasSubstr("there are none"));
  EXPECT_THAT(error_of({parts[0], parts[2]}), HasSubstr("shard 1/3 is missing"));
  EXPECT_THAT(error_of({parts[0], parts[1]}), HasSubstr("shard 2/3 is missing"));
  EXPECT_THAT(error_of({parts[0], parts[1], parts[1], parts[2]}), HasSubstr("1/3 is there twice"));
  PlanQuestion other = plan_question();
  other.global_batch = 128;
  EXPECT_THAT(error_of({parts[0], answered(other, 1, 3), parts[2]}),
              HasSubstr("different searches"));
}

TEST(PlanReport, ShardsOfASweepMergePointByPoint) {
  const auto points = sweep_points(plan_question(), {"n=8,16"});
  ASSERT_TRUE(points);
  std::vector<PlanReport> shards;
  std::string whole;
  for (unsigned i = 0; i < 2; ++i) {
    for (const PlanQuestion& point : *points) shards.push_back(answered(point, i, 2));
  }
  for (const PlanQuestion& point : *points) whole += plan_json_line(answered(point));
  const auto merged = merge_all_plans(shards);
  ASSERT_TRUE(merged) << merged.error().text();
  std::string text;
  for (const PlanReport& report : *merged) text += plan_json_line(report);
  EXPECT_EQ(text, whole);
}

// --- Nothing fits ----------------------------------------------------------------------------------

TEST(PlanRefusal, NamesTheConstraintAndTheNearestPlan) {
  PlanQuestion q = plan_question();
  q.constraints = constraints({"tp<=8", "pp=5"});  // 24 layers
  const PlanReport report = answered(q);
  EXPECT_FALSE(report.fits());
  const Diagnostic refusal = plan_refusal(q, report);
  EXPECT_EQ(refusal.code, ErrorCode::kTooLarge);
  EXPECT_THAT(refusal.what, HasSubstr("no plan is possible under tp<=8, pp=5"));
  EXPECT_THAT(refusal.hint, HasSubstr("without 'pp=5': tp "));
  EXPECT_THAT(refusal.hint, Not(HasSubstr("without 'tp<=8'")));
}

TEST(PlanRefusal, SaysWhatMemoryIsLackingAndWhereThereIsMore) {
  PlanQuestion q = plan_question();
  q.model = "gpt-3-175b";
  q.cluster = "1 x dgx-h100";
  const PlanReport report = answered(q);
  ASSERT_FALSE(report.fits());
  ASSERT_TRUE(report.search.leanest);
  EXPECT_TRUE(report.search.best.empty());
  EXPECT_TRUE(report.search.pareto.empty());
  EXPECT_GT(report.search.leanest->memory, report.capacity);
  const Diagnostic refusal = plan_refusal(q, report);
  EXPECT_EQ(refusal.code, ErrorCode::kTooLarge);
  EXPECT_THAT(refusal.what, HasSubstr("the leanest needs"));
  EXPECT_THAT(refusal.hint, HasSubstr(" chips: tp "));
}

TEST(PlanRefusal, ImpossibleWhateverIsGivenUpIsAMisuse) {
  PlanQuestion q = plan_question();
  // 29 chips: no degree but pp can be 29, and there are 24 layers.
  q.global_batch = 1;
  q.chips = 29;
  q.constraints = constraints({"micro_batch=1"});
  const PlanReport report = answered(q);
  EXPECT_FALSE(report.fits());
  EXPECT_EQ(plan_refusal(q, report).code, ErrorCode::kUsage);
}

TEST(PlanQuestion, NonsenseIsRefused) {
  const auto error_of = [](const PlanQuestion& q) {
    const Result<PlanReport> report = answer(q);
    return report ? Diagnostic{} : report.error();
  };
  PlanQuestion q = plan_question();
  q.global_batch = 0;
  EXPECT_THAT(error_of(q).text(), HasSubstr("--global-batch"));
  q = plan_question();
  q.constraints = {{"speed", 9, 9, {}}};
  EXPECT_EQ(error_of(q).code, ErrorCode::kUsage);
  q = plan_question();
  q.model = "gpt-9";
  EXPECT_THAT(error_of(q).text(), HasSubstr("gpt-9"));
}

TEST(PlanQuestion, DegreesAreConstraintsAndChoicesAreTheBase) {
  const Result<PlanQuestion> q =
      with_settings(plan_question(), {{"tensor-model-parallel-size", "4"},
                                      {"precision", "fp8"},
                                      {"recompute_modules", "mlp"},
                                      {"global_batch", "32"}});
  ASSERT_TRUE(q) << q.error().text();
  EXPECT_EQ(q->constraints, constraints({"tp=4"}));
  EXPECT_EQ(q->base.precision, Precision::kFp8);
  EXPECT_EQ(q->base.recompute_modules, kRecomputeMlp);
  EXPECT_EQ(q->global_batch, 32);
  EXPECT_FALSE(with_settings(plan_question(), {{"warp", "9"}}));
  EXPECT_EQ(with_settings(plan_question(), {{"tp", "4,8"}})->constraints, constraints({"tp=4,8"}));
  EXPECT_THAT(with_settings(plan_question(), {{"tp", "four"}}).error().text(),
              HasSubstr("constraint 'tp=four': 'four' is no tp"));
}

}  // namespace
}  // namespace flopcast
