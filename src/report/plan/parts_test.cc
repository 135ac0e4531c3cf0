// Where a step's time goes: nothing below zero, and all of it, wherever it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flopcast/report/estimate.h"
#include "flopcast/report/plan.h"
#include "support/plan_question.h"

namespace flopcast::report {
namespace {

using nlohmann::json;
using test::answered;
using test::plan_question;

void expect_whole(const json& told, const std::string& where) {
  const double step = told["time_s"].get<double>();
  double sum = 0;
  ASSERT_EQ(told["parts_s"].size(), kTimeParts) << where;
  for (const auto& [name, seconds] : told["parts_s"].items()) {
    EXPECT_GE(seconds.get<double>(), 0) << where << ": " << name;
    sum += seconds.get<double>();
  }
  EXPECT_NEAR(sum / step, 1, 1e-9) << where;
  // Of any plan: what kernels lose to transfers and nodes to each other, and what the host takes.
  EXPECT_GT(told["parts_s"]["contention"].get<double>(), 0) << where;
  EXPECT_GT(told["parts_s"]["host"].get<double>(), 0) << where;
}

json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

class EverySchedule : public testing::TestWithParam<ScheduleKind> {};

TEST_P(EverySchedule, PartsOfEveryPlanAreItsStep) {
  PlanQuestion question = plan_question();
  question.constraints = {*parse_plan_constraint("schedule=" + std::string(name(GetParam()))),
                          *parse_plan_constraint("pp>=2"), *parse_plan_constraint("tp<=2")};
  question.best = 20;
  const PlanReport report = answered(question);
  ASSERT_FALSE(report.best.empty());
  const json answer = json::parse(plan_json(report));
  const json page = data_of(plans_html({&report, 1}))["points"][0];
  for (std::size_t i = 0; i < report.best.size(); ++i) {
    const std::string words = answer["best"][i]["words"].get<std::string>();
    expect_whole(answer["best"][i], words);
    EXPECT_EQ(page["best"][i]["parts_s"], answer["best"][i]["parts_s"]) << words;
  }
}

TEST_P(EverySchedule, PartsOfAnEstimateAreItsStep) {
  const auto model = TrainingModel::make(
      *load_model("gpt-3-1.3b"), *Catalog::builtin().cluster("2 x dgx-h100"), Catalog::builtin());
  ASSERT_TRUE(model);
  for (const unsigned pp : {2U, 4U}) {
    for (const unsigned tp : {1U, 2U}) {
      Plan plan;
      plan.tp = tp;
      plan.pp = pp;
      plan.dp = 16 / tp / pp;
      plan.schedule = GetParam();
      const bool one_stage = plan.schedule == ScheduleKind::kGpipe ||
                             plan.schedule == ScheduleKind::kOneFOneB ||
                             plan.schedule == ScheduleKind::kZeroBubbleH1;
      plan.vpp = one_stage ? 1 : 2;
      plan.global_batch = 128;
      plan.sequence = 2048;
      const auto report = make_estimate_report(*model, plan);
      ASSERT_TRUE(report) << report.error().text();
      const json told = json::parse(estimate_json(*report));
      expect_whole(told, told["words"]);
      EXPECT_EQ(data_of(estimate_html(*report))["parts_s"], told["parts_s"]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PlanParts, EverySchedule,
                         testing::Values(ScheduleKind::kGpipe, ScheduleKind::kOneFOneB,
                                         ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
                                         ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV),
                         [](const auto& info) {
                           std::string words(name(info.param));
                           std::erase_if(words, [](char c) { return !std::isalnum(c); });
                           return words;
                         });

}  // namespace
}  // namespace flopcast::report
