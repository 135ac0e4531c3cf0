// Reports of searches, shown.
#include "flopcast/report/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "flopcast/parallel/fields.h"
#include "support/plan_question.h"
#include "support/rows.h"

namespace flopcast::report {
namespace {

using test::answered;
using test::plan_question;
using testing::HasSubstr;
using testing::Not;

TEST(PlanText, TellsWinnerRivalsFrontAndReasons) {
  const PlanReport r = answered(plan_question());
  const std::string text = plan_text(r);
  EXPECT_THAT(text, HasSubstr("gpt-3-1.3b on 2 x dgx-h100 (16 x h100-sxm)"));
  EXPECT_THAT(text, HasSubstr("Best  " + plan_words(r.best.front().found.plan) + "\n"));
  EXPECT_THAT(text, HasSubstr("--global-batch-size 64"));
  EXPECT_THAT(text, HasSubstr("The best 5 plans"));
  EXPECT_THAT(text, HasSubstr("seconds a step"));
  EXPECT_THAT(text, HasSubstr("the second"));
  EXPECT_THAT(text, HasSubstr("+10 % of"));
}

TEST(PlanText, AWholeLaunchLineStandsOnTheFirstScreen) {
  for (const auto& [model, cluster, line] :
       {std::tuple("llama-3-70b", "64 x dgx-h100", "torchrun --nnodes 64 --nproc-per-node 8"),
        std::tuple("gpt-3-1.3b", "1 x dgx-b200", "torchrun --standalone --nproc-per-node 8")}) {
    PlanQuestion q = plan_question();
    q.model = model;
    q.cluster = cluster;
    q.global_batch = 512;
    const std::string text = plan_text(answered(q));
    const std::string launch = text.substr(0, text.find("\nThe best 5 plans"));
    EXPECT_THAT(launch, HasSubstr("Best of each launcher"));
    EXPECT_THAT(launch, HasSubstr(line));
    EXPECT_THAT(launch, HasSubstr("--mock-data"));
    EXPECT_THAT(launch, Not(HasSubstr("NOT this plan")));
    EXPECT_LE(std::count(launch.begin(), launch.end(), '\n'), 52);
    std::size_t at = launch.find("Best of each");
    while (at < launch.size()) {
      const std::size_t end = std::min(launch.find('\n', at), launch.size());
      EXPECT_LE(end - at, 80U) << launch.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(PlanText, MergedShardsReadAsTheWhole) {
  PlanQuestion q = plan_question();
  q.constraints = {*parse_plan_constraint("pp=2"), *parse_plan_constraint("tp<=8")};
  std::vector<PlanReport> parts;
  for (unsigned i = 0; i < 3; ++i) parts.push_back(*answer(q, {1, i, 3, {}}));
  const std::string text = plan_text(*merge_plans(parts));
  EXPECT_TRUE(text == plan_text(answered(q)));
  EXPECT_THAT(text, HasSubstr("pp=2, tp<=8\n"));
}

TEST(PlanText, SaysByWhatARivalLoses) {
  PlanReport r = answered(plan_question());
  r.best.resize(2);
  r.best[1] = r.best[0];
  r.best[1].found.time += Seconds{0.25};
  r.best[1].parts[static_cast<std::size_t>(TimePart::kBubble)] += Seconds{0.35};
  r.best[1].parts[static_cast<std::size_t>(TimePart::kTensor)] -= Seconds{0.1};
  EXPECT_THAT(plan_text(r), HasSubstr("bubble +350.00 ms, tensor -100.00 ms"));
}

TEST(PlanText, ASweepHasARowPerPoint) {
  std::vector<PlanReport> reports;
  const auto points = sweep_points(plan_question(), {"n=1,16"});
  ASSERT_TRUE(points);
  for (PlanQuestion point : *points) {
    if (reports.empty()) point.model = "gpt-3-175b";  // does not fit on one chip
    reports.push_back(answered(point));
  }
  const std::string text = plans_text(reports);
  EXPECT_THAT(text, HasSubstr("n 1 "));
  EXPECT_THAT(text, HasSubstr("nothing fits"));
  EXPECT_THAT(text, HasSubstr("n 16"));
}

PlanQuestion whole_run_question() {
  PlanQuestion q = plan_question();
  q.run = RunQuestion{};
  q.run->tokens = 1e12;
  q.run->usd_per_chip_hour = q.training.usd_per_chip_hour = 2;
  q.run->kg_co2_per_kwh = 0.4;
  q.run->chip_between_failures = Seconds{5e4 * 3600};
  q.run->checkpoint = Seconds{30};
  q.run->restart = Seconds{600};
  return q;
}

TEST(PlanText, NoRowIsWiderThanATerminal) {
  PlanQuestion q = whole_run_question();
  q.constraints = {*parse_plan_constraint("pp>=2"), *parse_plan_constraint("micro_batch<=4"),
                   *parse_plan_constraint("recompute=selective,full"),
                   *parse_plan_constraint("sequence_parallel=on")};
  q.base.overlap = {};
  const PlanReport one = answered(q);
  ASSERT_TRUE(one.fits());
  EXPECT_LE(test::widest_row(plan_text(one)), 80U) << plan_text(one);
  std::vector<PlanReport> several = {one};
  for (const char* on : {"2 x dgx-h200, rail NDR", "4 x dgx-a100, rail NDR, fabric.latency 3us"}) {
    q.cluster = on;
    several.push_back(answered(q));
  }
  EXPECT_LE(test::widest_row(plans_text(several)), 80U) << plans_text(several);
}

TEST(PlanText, TellsOfTheWholeRunAndHowLikelyAPlanFits) {
  const PlanReport r = answered(whole_run_question());
  const std::string text = plan_text(r);
  EXPECT_THAT(text, HasSubstr("The whole run: 1 T tokens"));
  EXPECT_THAT(text, HasSubstr("a checkpoint after every"));
  EXPECT_THAT(text, HasSubstr("of CO2"));
  EXPECT_THAT(text, HasSubstr("fits: > 99 %"));
  ASSERT_TRUE(r.best.front().tie);
  EXPECT_THAT(text, HasSubstr("1 = " + plan_words(r.best.front().found.plan).substr(0, 20)));
  for (const PlanCandidate& c : r.best) {
    ASSERT_TRUE(c.run);
    EXPECT_NEAR(c.run->cost_usd / (2 * c.run->chip_hours), 1, 1e-9);
    EXPECT_NEAR(c.run->work / (c.found.time * c.run->steps), 1, 1e-9);
  }
  EXPECT_THAT(plans_csv({&r, 1}), HasSubstr(",run_cost_usd,"));
}

// Each lies in the band of the other: then what they cost tells them apart.
TEST(PlanText, OfClustersThatAreAsFastTheCheapestIsNamed) {
  PlanQuestion q = whole_run_question();
  std::vector<PlanReport> reports;
  for (const auto& [on, price] :
       {std::pair("2 x dgx-h100", 3.0), std::pair("2 x dgx-h100, fabric.latency 9us", 2.0),
        std::pair("1 x dgx-a100", 1.0)}) {
    q.cluster = on;
    q.run->usd_per_chip_hour = price;
    reports.push_back(answered(q));
  }
  const PlanComparison all = compare_plans(reports);
  EXPECT_EQ(all.equal, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(all.cheapest, 1U);
  const std::string text = plans_text(reports);
  EXPECT_THAT(text, HasSubstr("1 x dgx-a100"));
  EXPECT_THAT(text, HasSubstr("The cheapest of these: 2 x dgx-h100,")) << text;
  reports[0].best.front().run->cost_usd = 0;
  EXPECT_FALSE(compare_plans(reports).cheapest) << "what has no price is not cheap";
}

TEST(PlanCsv, HasARowPerPlanUnderTitles) {
  PlanQuestion q = plan_question();
  q.changes = {{"n", "8"}};
  const PlanReport r = answered(q);
  const std::string csv = plans_csv({&r, 1});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_THAT(csv, testing::StartsWith("model,cluster,chips,sweep_n,rank,time_s,"));
  EXPECT_THAT(csv, HasSubstr("gpt-3-1.3b,1 x dgx-h100,8,8,1,"));
}

TEST(PlanPage, HoldsTheDataAndNoTemplateMarks) {
  const PlanReport r = answered(plan_question());
  const std::string page = plans_html({&r, 1});
  EXPECT_THAT(page, HasSubstr(plan_words(r.best.front().found.plan)));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("/*{")));
}

}  // namespace
}  // namespace flopcast::report
