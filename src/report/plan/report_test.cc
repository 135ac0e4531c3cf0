// Reports of searches, shown.
#include "flopcast/report/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "flopcast/parallel/fields.h"
#include "support/plan_question.h"

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
    EXPECT_LE(std::count(launch.begin(), launch.end(), '\n'), 45);
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
  EXPECT_THAT(text, HasSubstr("; pp=2, tp<=8\n"));
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
