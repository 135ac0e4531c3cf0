// Errors, ranks of layouts, timelines and calibration files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flopcast/measured/serving.h"
#include "support/temporary_folder.h"

namespace flopcast::measured {
namespace {

using testing::HasSubstr;

ServingPoint measured_point(unsigned tp, double ttft, double tpot) {
  ServingPoint p;
  p.engine = "vllm", p.model = "m", p.chip = "c", p.input = 100, p.output = 11, p.users = 4;
  p.layout.tp = tp;
  p.ttft = Seconds{ttft}, p.tpot = Seconds{tpot};
  return p;
}

ServingForecast forecast_of(const ServingPoint& p, double ttft, double tpot) {
  ServingForecast f;
  f.point = &p;
  f.ttft = Seconds{ttft}, f.tpot = Seconds{tpot};
  f.ttft_low = 0.9, f.ttft_high = 1.1, f.tpot_low = 0.5, f.tpot_high = 2;
  return f;
}

TEST(ServingErrorsOf, AreForecastOverMeasured) {
  const ServingPoint a = measured_point(1, 1, 0.1), b = measured_point(1, 2, 0.1),
                     c = measured_point(1, 0, 0.1);
  const ServingForecast good = forecast_of(a, 1.05, 0.1), low = forecast_of(b, 1, 0.15),
                        none = forecast_of(c, 1, 0.05);
  const std::vector<const ServingForecast*> all = {&good, &low, &none};
  const ServingErrors e = serving_errors(all, ServingQuantity::kTtft);
  EXPECT_EQ(e.n, 2U);  // the third was not measured
  EXPECT_NEAR(e.mape, (0.05 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(e.median, (0.05 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(e.bias, (0.05 - 0.5) / 2, 1e-12);
  EXPECT_NEAR(e.factor, std::exp((std::log(1.05) + std::log(2)) / 2), 1e-12);
  EXPECT_NEAR(e.band, 0.5, 1e-12);
  EXPECT_NEAR(serving_errors(all, ServingQuantity::kTpot).band, 1, 1e-12);
  // 4 users with answers of 11 tokens: 44 / (1 + 10 x 0.1) a second measured
  const std::vector<const ServingForecast*> one = {&good};
  EXPECT_NEAR(serving_errors(one, ServingQuantity::kThroughput).bias, 2 / 2.05 - 1, 1e-12);
}

TEST(ServingErrorsOf, RefusedForecastsAreLeftOut) {
  const ServingPoint a = measured_point(1, 1, 0.1);
  ServingForecast refused = forecast_of(a, 1, 0.1);
  refused.refused = "does not fit";
  const std::vector<const ServingForecast*> all = {&refused};
  EXPECT_EQ(serving_errors(all, ServingQuantity::kTpot).n, 0U);
}

TEST(ServingLayoutRanks, AreOfTokensAChip) {
  // measured tokens/s and chip: 1 > 1/2 > 1/4 of the same times; forecasts take tp 2 for the best
  const ServingPoint one = measured_point(1, 1, 0.1), two = measured_point(2, 1, 0.1),
                     four = measured_point(4, 1, 0.1);
  const ServingForecast f1 = forecast_of(one, 1, 0.1), f2 = forecast_of(two, 0.1, 0.01),
                        f4 = forecast_of(four, 1, 0.1);
  const std::vector<const ServingForecast*> all = {&f1, &f2, &f4};
  const LayoutRanks ranks = layout_ranks(all);
  EXPECT_EQ(ranks.sets, 1U);
  EXPECT_NEAR(ranks.spearman, 0.5, 1e-12);
  EXPECT_NEAR(ranks.lost, 0.5, 1e-12);
  const std::vector<const ServingForecast*> pair = {&f1, &f2};
  EXPECT_EQ(layout_ranks(pair).sets, 0U);
}

constexpr const char* kTwoRows =
    "{\"input_toks\": 10, \"output_toks\": 3, \"queued_ts\": 5.5, \"first_token_ts\": 6, "
    "\"last_token_ts\": 7}\n"
    "\n"
    "{\"input_toks\": 20, \"output_toks\": 1, \"queued_ts\": 5, \"first_token_ts\": 5.25, "
    "\"last_token_ts\": 5.25}\n";

TEST(ServingTimelines, CountFromTheFirstQueued) {
  const auto timeline = parse_serving_timeline(kTwoRows, "t");
  ASSERT_TRUE(timeline) << timeline.error().text();
  ASSERT_EQ(timeline->requests.requests.size(), 2U);
  EXPECT_EQ(timeline->requests.requests[0].input, 20);
  EXPECT_EQ(timeline->requests.requests[1].arrival, Time::from_us(500'000));
  EXPECT_EQ(timeline->ttft[0], Time::from_us(250'000));
  EXPECT_EQ(timeline->ttft[1], Time::from_us(500'000));
  EXPECT_EQ(timeline->tpot[0], Time{});
  EXPECT_EQ(timeline->tpot[1], Time::from_us(500'000));
  EXPECT_EQ(timeline->latency[1], Time::from_us(1'500'000));
}

TEST(ServingTimelines, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) {
    const auto timeline = parse_serving_timeline(text, "t.jsonl");
    return timeline ? std::string("none") : timeline.error().text();
  };
  EXPECT_THAT(error(""), HasSubstr("t.jsonl:1"));
  EXPECT_THAT(error(std::string(kTwoRows) + "{"), HasSubstr("t.jsonl:4"));
  EXPECT_THAT(error("{\"input_toks\": 1}"), HasSubstr("output_toks"));
  EXPECT_THAT(
      error("{\"input_toks\": 1, \"output_toks\": 1, \"queued_ts\": 2, \"first_token_ts\": 1, "
            "\"last_token_ts\": 3}"),
      HasSubstr("follow each other"));
}

TEST(ServingCalibrations, ComeBackFromTheirFile) {
  ServingCalibration c{
      "vllm", "openai/gpt-oss-120b", "h100_sxm", "fp4", {2, 1, 1, 1}, 1024, 1024, {8}, {}};
  c.factors = {1.25, 0.75, 1.5, 1.125};
  const std::vector<ServingCalibration> both = {c, c};
  const test::TemporaryFolder folder;
  const auto read = parse_serving_calibration(serving_calibration_toml(both), "c.toml");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->front().factors, c.factors);
  EXPECT_EQ(read->front().layout, c.layout);
  EXPECT_EQ(read->front().users, c.users);
  const auto bad = parse_serving_calibration("[[deployment]]\ndecode = -1\n", "d.toml");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().text(), HasSubstr("decode"));
  EXPECT_FALSE(parse_serving_calibration("x = 1\n", "e.toml"));
}

TEST(ServingPointTables, NeedTheirColumns) {
  const test::TemporaryFolder folder;
  const auto points = read_points_csv(folder.write(
      "p.csv",
      "engine,model,chip,tp,input,output,users,ttft_ms,tpot_ms\nvllm,m,h100_sxm,2,10,20,4,30,5\n"));
  ASSERT_TRUE(points) << points.error().text();
  EXPECT_EQ(points->front().layout.tp, 2U);
  EXPECT_EQ(points->front().precision, "bf16");
  EXPECT_NEAR(points->front().ttft.value, 0.03, 1e-12);
  EXPECT_FALSE(points->front().known_protocol);
  const auto lacks = read_points_csv(folder.write("q.csv", "engine,model\nvllm,m\n"));
  ASSERT_FALSE(lacks);
  EXPECT_THAT(lacks.error().text(), HasSubstr("chip"));
  const auto none = read_points_csv(folder.write(
      "r.csv",
      "engine,model,chip,input,output,users,ttft_ms,tpot_ms\nvllm,m,h100_sxm,10,20,0,30,5\n"));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("r.csv:2"));
}

}  // namespace
}  // namespace flopcast::measured
