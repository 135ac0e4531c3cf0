// flopcast validate serving, validate serving-trace and calibrate serving as people call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/testing.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kPoints = "examples/serving_points.json";

TEST(ValidateServing, SumsUpCleanPointsAndCountsTheOthers) {
  const Answered outcome = answer_to({"validate", "serving", kPoints, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  const json& summary = document["summary"];
  EXPECT_EQ(summary["points"], 9);
  EXPECT_EQ(summary["clean"], 8);  // the run that drafted is not
  EXPECT_EQ(summary["answered"], 8);
  EXPECT_EQ(summary["ttft"]["n"], 7);
  EXPECT_EQ(document["disaggregated"]["tpot"]["n"], 1);
  EXPECT_EQ(document["offline"]["dense"]["n"], 1);
  EXPECT_GT(document["with_one_point"]["tpot"]["n"], 0);
  // published deployments: whatever changes, forecasts stay of their size
  EXPECT_LT(summary["tpot"]["mape"], 0.35);
  EXPECT_LT(summary["ttft"]["mape"], 0.6);
  std::size_t excluded = 0;
  for (const json& rule : document["exclusions"]) excluded += rule["points"].get<std::size_t>();
  EXPECT_EQ(excluded, 1U);
}

TEST(ValidateServing, PrintsTheSameForAnyNumberOfThreads) {
  const std::vector<std::string> base = {"validate", "serving", kPoints, "--json", "--threads"};
  auto one = base, four = base;
  one.emplace_back("1"), four.emplace_back("4");
  EXPECT_EQ(answer_to(one).out, answer_to(four).out);
}

TEST(ValidateServing, FiltersAndFormats) {
  const Answered text = answer_to({"validate", "serving", kPoints, "--engine", "vllm", "--cases"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("clean, known protocol"));
  EXPECT_THAT(text.out, HasSubstr("tp8"));
  const Answered csv = answer_to({"validate", "serving", kPoints, "--model", "gpt-oss", "--csv"});
  EXPECT_THAT(csv.out, HasSubstr("openai/gpt-oss-120b"));
  EXPECT_EQ(answer_to({"validate", "serving", kPoints, "--model", "no-such"}).code, 2);
  EXPECT_EQ(answer_to({"validate", "serving", "/no/such.json"}).code, 3);
}

TEST(ValidateServing, ChecksConstantsBeforeItReadsThem) {
  test::TemporaryFolder folder;
  const auto asked = [&folder](const std::string& text) {
    return answer_to(
        {"validate", "serving", kPoints, "--constants", folder.write("c.toml", text).string()});
  };
  const std::string head = "[sources]\nx = \"here\"\n";
  const Answered large = asked(head + "[all]\nsource = \"x\"\nflop_share = 2\n");
  EXPECT_NE(large.code, 0);
  EXPECT_THAT(large.err, HasSubstr("flop_share between"));
  // of an architecture no point is on, too
  EXPECT_NE(asked(head + "[architecture.none]\nsource = \"x\"\nflops = 1\n").code, 0);
  EXPECT_EQ(answer_to({"validate", "serving", kPoints, "--constants", "/no/such.toml"}).code, 3);
}

TEST(ValidateServingTrace, PutsPercentilesBesideMeasuredOnes) {
  const Answered outcome =
      answer_to({"validate", "serving-trace", "examples/serving_timeline.jsonl", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["requests"], 32);
  EXPECT_GT(document["tpot"]["p50"]["forecast_s"], 0);
  EXPECT_EQ(answer_to({"validate", "serving-trace", kPoints}).code, 3);
}

TEST(CalibrateServing, FactorsMakeTheForecastThePoint) {
  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "factors.toml").string();
  const Answered outcome =
      answer_to({"calibrate", "serving", "examples/serving_points.csv", "--json", "-o", out});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  ASSERT_EQ(document["deployments"].size(), 1U);
  EXPECT_EQ(document["deployments"][0]["users"].size(), 2U);
  EXPECT_GT(document["deployments"][0]["decode"], 0.3);
  EXPECT_LT(document["deployments"][0]["decode"], 3);
}

}  // namespace
}  // namespace flopcast::cli
