// What is told of a search for a fleet: words on reports made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/report/serve_plan.h"
#include "support/rows.h"

namespace flopcast {
namespace {

using testing::HasSubstr;
using testing::Not;

FleetCandidate told_fleet(unsigned replicas, unsigned tp, double cost) {
  FleetCandidate one;
  one.choice = {ServingEngine::kVllm, "fp8", 8192, 0, {{tp, 1, 1, 1}, replicas}, {}};
  one.ttft = {{0.2}, {0.15}, {0.3}, {0.4}, {0.9}, {1.5}, 100};
  one.tpot = {{0.02}, {0.02}, {0.03}, {0.035}, {0.04}, {0.06}, 100};
  one.output_tokens_per_s = 1000;
  one.output_tokens_per_s_per_chip = 1000.0 / one.choice.chips();
  one.requests_per_s = 5;
  one.cost_per_million_tokens = cost;
  one.ratio = 0.9;
  return one;
}

ServePlanReport told_report() {
  ServePlanReport report;
  report.model = "llama-3-70b";
  report.cluster = "2 x dgx-h100";
  report.chip = "h100-sxm";
  report.chips = 16;
  report.limits = *parse_service_limits("ttft.p99<1s,tpot.p99<50ms");
  report.chip_usd_per_hour = 2;
  report.answer.best = {told_fleet(2, 4, 3.2), told_fleet(1, 8, 3.3)};
  report.answer.pareto = {told_fleet(2, 4, 3.2)};
  report.answer.counts = {420, 81, 26, 223, 90, 120};
  ServingLaunch launch;
  launch.replicas = 2;
  launch.checkpoint = "llama-3-70b with weights in fp8";
  launch.command = "vllm serve $MODEL --tensor-parallel-size 4";
  launch.lacks = {"a thing"};
  report.launches = {launch};
  report.assumed = {"something"};
  return report;
}

TEST(ServePlanText, TellsTheFleetAndHowItIsStarted) {
  ServePlanReport report = told_report();
  report.answer.best.front().slow_ratio = 1.2;
  report.answer.best.front().same = {
      {{ServingEngine::kVllm, "fp8", 16384, 0, {{4, 1, 1, 1}, 2}, {}}, 7}};
  EXPECT_EQ(serve_plan_text(report),
            "llama-3-70b on 2 x dgx-h100 (up to 16 x h100-sxm): ttft.p99<1s, tpot.p99<50ms\n"
            "\n"
            "8 chips: vllm, fp8, 2 x tp 4, 8,192 tokens an iteration\n"
            "  90.0 % of the limits by the forecast, 120.0 % at the slow end of the 10-90 %\n"
            "      band: they hold there no more\n"
            "  1000 tokens/s of answers, 125 a chip; 5 requests/s\n"
            "  3.2 USD a million tokens of answers\n"
            "             mean        p50        p90        p95        p99       max\n"
            "  TTFT  200.00 ms  150.00 ms  300.00 ms  400.00 ms  900.00 ms    1.50 s\n"
            "  TPOT   20.00 ms   20.00 ms   30.00 ms   35.00 ms   40.00 ms  60.00 ms\n"
            "\n"
            "On as few chips\n"
            "  chips  of limits  slow end  USD/M  tokens/s  TTFT p99  TPOT p99\n"
            "      8     90.0 %   120.0 %    3.2      1000    900 ms   40.0 ms\n"
            "    vllm, fp8, 2 x tp 4, 8,192 tokens an iteration (the same with 16,384)\n"
            "      8     90.0 %         –    3.3      1000    900 ms   40.0 ms\n"
            "    vllm, fp8, 1 x tp 8, 8,192 tokens an iteration\n"
            "\n"
            "How 2 replicas are started ($MODEL: llama-3-70b with weights in fp8)\n"
            "  vllm serve $MODEL --tensor-parallel-size 4\n"
            "  not in it: a thing\n"
            "\n"
            "420 configurations: 81 impossible, 26 out of memory, 313 run or ruled out by\n"
            "    bounds\n"
            "assumed: something\n");
}

TEST(ServePlanText, KeepsTo80Columns) {
  ServePlanReport report = told_report();
  report.launches.front().command += " --a-flag with a value" + std::string(3, ' ') +
                                     "--another-flag-that-is-long 123456 --more flags";
  report.launches.front().role = ServingRole::kPrefill;
  for (auto* list : {&report.answer.best, &report.answer.pareto}) {
    for (FleetCandidate& one : *list) {
      one.choice.decode = PoolChoice{{2, 4, 8, 2}, 123};
      one.choice.max_requests = 1024;
      one.ttft.max = one.latency.max = {123456.789};
      one.ratio = one.slow_ratio = 123.4;
    }
  }
  report.answer.pareto.push_back(report.answer.best.back());
  ServePlanReport largest = report;
  largest.largest = true;
  largest.load_unit = "times the trace's rate";
  largest.answer.best.front().largest = {1234, 1240, 999, 2340};
  ServePlanReport none = report;
  none.answer.best.clear();
  none.answer.nearest = report.answer.best.front();
  report.on = "32 x dgx-h100 and so on, of a long name";
  for (const ServePlanReport& one : {report, largest, none}) {
    EXPECT_LE(test::widest_row(serve_plan_text(one)), 80U) << serve_plan_text(one);
    EXPECT_LE(test::widest_row(serve_plans_text(compare_serve_plans({one, one}))), 80U);
  }
  EXPECT_THAT(serve_plan_text(report), HasSubstr("How 2 prefill replicas are started"));
  EXPECT_THAT(serve_plan_text(report), HasSubstr(" \\\n"));  // a shell reads it on
  EXPECT_THAT(serve_plan_text(largest), HasSubstr("1234 times the trace's rate: "));
}

TEST(ServePlanText, TellsTheNearest) {
  ServePlanReport report = told_report();
  report.answer.nearest = report.answer.best.front();
  report.answer.best.clear();
  report.answer.pareto.clear();
  report.launches.clear();
  const std::string text = serve_plan_text(report);
  EXPECT_THAT(text, HasSubstr("None meets the limits. The nearest"));
  EXPECT_THAT(text, Not(HasSubstr("started")));
}

TEST(ServePlanText, CountsAddUp) {
  EXPECT_EQ(serve_plan_effort(told_report().answer.counts),
            "420 configurations: 81 impossible, 26 out of memory, 223 ruled out by bounds, 90 "
            "simulated (120 fleets)");
}

TEST(ServePlanCsv, HasARowAFleet) {
  ServePlanReport report = told_report();
  report.answer.best[1].choice.decode = PoolChoice{{2, 1, 1, 1}, 3};
  const std::string csv = serve_plans_csv({&report, 1});
  EXPECT_THAT(
      csv,
      HasSubstr("\nllama-3-70b,2 x dgx-h100,8,vllm,fp8,2,4,1,1,1,,,,,,8192,0,1000,5,3.2,0.9,"));
  EXPECT_THAT(csv, HasSubstr("\nllama-3-70b,2 x dgx-h100,14,vllm,fp8,1,8,1,1,1,3,2,1,1,1,8192,"));
}

TEST(ServePlanComparisonText, ShowsClustersSideBySideAndThenTheWinner) {
  ServePlanReport first = told_report(), second = told_report(), third = told_report();
  first.on = "2 x dgx-h100";
  second.on = "dgx-b200";
  second.chip_usd_per_hour = 3;
  second.answer.best = {told_fleet(1, 4, 2.9)};
  third.on = "dgx-a100";
  third.answer.best.clear();
  third.answer.pareto.clear();
  third.answer.nearest = told_fleet(2, 4, 3.2);
  const std::string text = serve_plans_text(compare_serve_plans({first, second, third}));
  EXPECT_THAT(text, HasSubstr("llama-3-70b on 3 clusters"));
  EXPECT_THAT(text,
              HasSubstr("Cheapest: dgx-b200 (12 USD an hour). Fewest chips: dgx-b200 (4 chips)"));
  EXPECT_THAT(text, HasSubstr("dgx-a100: no fleet meets"));
  EXPECT_THAT(text, HasSubstr("\n4 chips: vllm"));  // the winner's own report
  EXPECT_EQ(serve_plans_text(compare_serve_plans({first})), serve_plan_text(first));
}

}  // namespace
}  // namespace flopcast
