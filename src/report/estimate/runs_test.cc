// What `validate training` prints of runs and forecasts that are written down here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "flopcast/report/training.h"

namespace flopcast::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// Four forecasts: 10 % above, 20 % below (outside its band), with experts 50 % above, and none; and
/// two runs that cannot be forecast.
class TrainingReportTest : public testing::Test {
 protected:
  TrainingReportTest() {
    add("one", "alpha", 'A', false, 1.0, 1.1);
    add("two", "alpha", 'B', false, 1.0, 0.8);
    add("three", "alpha", 'A', true, 2.0, 3.0);
    runs_[0].memory = Bytes{8e9};
    runs_[0].assumed = {"microbatch 1"};
    runs_[1].assumed = {"microbatch 1", "precision bf16"};
    runs_[1].unmodelled = {"parallel.sharp: rings are taken"};
    runs_[1].unknown = {"parallel.tpp"};
    runs_[0].ignored = runs_[1].ignored = {"verified"};
    forecasts_[0].estimate.stages.resize(1);
    forecasts_[0].estimate.stages[0].memory.weights = Bytes{6e9};
    forecasts_.emplace_back().run = &run("four", "beta", 'A', false, 1.0);
    forecasts_.back().failure =
        Diagnostic{ErrorCode::kUsage, "four", "needs more chips", "name a larger cluster"};
    run("five", "beta", 'C', false, 0).incomplete = "no layout";
    run("six", "alpha", 'A', false, 0).incomplete = "no time";
  }

  TrainingRun& run(const std::string& id, const std::string& set, char quality, bool experts,
                   double measured_s) {
    TrainingRun& run = runs_.emplace_back();
    run.id = id, run.set = set, run.quality = quality, run.experts = experts;
    run.measured_s = measured_s;
    run.plan.global_batch = 8;
    return run;
  }
  void add(const std::string& id, const std::string& set, char quality, bool experts,
           double measured_s, double forecast_s) {
    RunForecast& forecast = forecasts_.emplace_back();
    forecast.run = &run(id, set, quality, experts, measured_s);
    forecast.estimate.step = Seconds{forecast_s};
    forecast.estimate.low = Seconds{0.9 * forecast_s};
    forecast.estimate.high = Seconds{1.1 * forecast_s};
    forecast.estimate.stages.resize(1);
  }
  TrainingReport report(const RunFilter& filter = {}) {
    all_ = {runs_.begin(), runs_.end()};
    given_ = {forecasts_.begin(), forecasts_.end()};
    return training_report(all_, given_, filter);
  }
  json document(const RunFilter& filter = {}) { return json::parse(training_json(report(filter))); }

  std::deque<TrainingRun> runs_;
  std::deque<RunForecast> forecasts_;
  std::vector<TrainingRun> all_;
  std::vector<RunForecast> given_;
};

TEST_F(TrainingReportTest, ErrorsAreSharesOfWhatWasMeasured) {
  const json d = document();
  EXPECT_EQ(d["summary"]["n"], 3);
  EXPECT_NEAR(d["summary"]["mape"], (0.1 + 0.2 + 0.5) / 3, 1e-9);
  EXPECT_NEAR(d["summary"]["bias"], (0.1 - 0.2 + 0.5) / 3, 1e-9);
  // Between the second and third of 0.1, 0.2, 0.5, at 0.9 x 2.
  EXPECT_NEAR(d["summary"]["p90"], 0.2 + 0.8 * 0.3, 1e-9);
  EXPECT_NEAR(d["summary"]["worst"], 0.5, 1e-9);
  EXPECT_NEAR(d["summary"]["band_coverage"], 1.0 / 3, 1e-9);
  EXPECT_EQ(d["dense"]["n"], 2);
  EXPECT_EQ(d["moe"]["n"], 1);
  EXPECT_NEAR(d["summary"]["memory_mape"], 0.25, 1e-9);
  EXPECT_TRUE(d["moe"]["memory_mape"].is_null());
}

TEST_F(TrainingReportTest, CasesTellForecastBandAndMemory) {
  const json one = document()["cases"][0];
  EXPECT_EQ(one["id"], "one");
  EXPECT_NEAR(one["error"], 0.1, 1e-9);
  EXPECT_NEAR(one["low_s"], 0.99, 1e-9);
  EXPECT_TRUE(one["in_band"]);
  EXPECT_EQ(one["memory_bytes"], 6e9);
  EXPECT_EQ(one["measured_memory_bytes"], 8e9);
  EXPECT_EQ(one["memory_by_class_bytes"]["weights"], 6e9);
  const json four = document()["cases"][3];
  EXPECT_EQ(four["failure"], "four: needs more chips (name a larger cluster)");
  EXPECT_FALSE(four.contains("forecast_s"));
}

TEST_F(TrainingReportTest, SetsOfBothKindsAreSplit) {
  const json sets = document()["sets"];
  EXPECT_EQ(sets["alpha"]["n"], 2);
  EXPECT_EQ(sets["alpha (experts)"]["n"], 1);
  EXPECT_EQ(sets["beta"]["n"], 0);
  EXPECT_TRUE(sets["beta"]["mape"].is_null());
}

TEST_F(TrainingReportTest, OpenRunsAreSummedUpApart) {
  add("seven", "alpha", 'C', false, 1.0, 4.0);
  const json d = document();
  EXPECT_EQ(d["summary"]["n"], 3);
  EXPECT_EQ(d["dense"]["n"], 2);
  EXPECT_EQ(d["open"]["n"], 1);
  EXPECT_NEAR(d["open"]["bias"], 3, 1e-9);
  EXPECT_EQ(d["sets"]["alpha"]["n"], 2);
  EXPECT_EQ(d["sets"]["alpha (open)"]["n"], 1);
  EXPECT_THAT(training_text(report(), false), HasSubstr("all open"));
}

TEST_F(TrainingReportTest, AssumptionsAreCounted) {
  const json assumed = document()["assumed"];
  ASSERT_EQ(assumed.size(), 2u);
  EXPECT_EQ(assumed[0], (json{{"what", "microbatch 1"}, {"runs", 2}}));
  EXPECT_EQ(assumed[1], (json{{"what", "precision bf16"}, {"runs", 1}}));
}

TEST_F(TrainingReportTest, FieldsThatNoForecastHasAreTold) {
  const json d = document();
  EXPECT_EQ(d["unmodelled"],
            json::array({{{"what", "parallel.sharp: rings are taken"}, {"runs", 1}}}));
  EXPECT_EQ(d["unknown"], json::array({{{"what", "parallel.tpp"}, {"runs", 1}}}));
  EXPECT_EQ(d["ignored"], json::array({{{"what", "verified"}, {"runs", 2}}}));
  EXPECT_EQ(d["cases"][1]["unknown"], json::array({"parallel.tpp"}));
  EXPECT_EQ(d["cases"][0]["unmodelled"], json::array());
  const std::string text = training_text(report(), false);
  EXPECT_THAT(text, HasSubstr("told and not modelled, runs:\n     1  parallel.sharp"));
  EXPECT_THAT(text, HasSubstr("fields that are not known, runs:\n     1  parallel.tpp\n"
                              "        two\n"));
  EXPECT_THAT(text, Not(HasSubstr("verified")));
}

TEST_F(TrainingReportTest, FiltersTakeQualitySetAndKind) {
  RunFilter filter;
  filter.quality = "A";
  EXPECT_EQ(document(filter)["summary"]["n"], 2);
  EXPECT_EQ(document(filter)["incomplete"].size(), 1u);
  filter.dense = true;
  EXPECT_EQ(document(filter)["summary"]["n"], 1);
  filter.dense = false, filter.experts = true;
  EXPECT_EQ(document(filter)["summary"]["n"], 1);
  filter = {};
  filter.sets = {"beta"};
  const json beta = document(filter);
  EXPECT_EQ(beta["summary"]["n"], 0);
  ASSERT_EQ(beta["incomplete"].size(), 1u);
  EXPECT_EQ(beta["incomplete"][0]["id"], "five");
  EXPECT_EQ(beta["incomplete"][0]["quality"], "C");
}

TEST_F(TrainingReportTest, SetsNobodyKnowsAreRefused) {
  RunFilter filter;
  filter.sets = {"alpha", "gamma"};
  const auto problem = filter_problem(filter, {runs_.begin(), runs_.end()});
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->text(), "gamma: no run is of this set (there are alpha, beta)");
  filter.sets = {"alpha"};
  EXPECT_FALSE(filter_problem(filter, {runs_.begin(), runs_.end()}).has_value());
}

TEST_F(TrainingReportTest, TextSaysWhatIsLeftOutAndAssumed) {
  const std::string text = training_text(report(), true);
  EXPECT_THAT(text, HasSubstr("alpha (experts)"));
  EXPECT_THAT(text, HasSubstr("error: forecast / measured - 1"));
  EXPECT_THAT(text, HasSubstr("assumed, runs:\n     2  microbatch 1\n"));
  EXPECT_THAT(text, HasSubstr("     1  no layout\n        five\n"));
  EXPECT_THAT(text, HasSubstr("     1  four: needs more chips"));
  RunFilter filter;
  filter.sets = {"beta"};
  EXPECT_THAT(training_text(report(filter), false), HasSubstr("no run could be forecast"));
  EXPECT_THAT(training_text(report(filter), false), Not(HasSubstr("no time")));
}

TEST_F(TrainingReportTest, CsvHasALinePerForecast) {
  const std::string csv = training_csv(report());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4);
  EXPECT_THAT(csv, HasSubstr("id,set,group,quality,experts"));
}

}  // namespace
}  // namespace flopcast::report
