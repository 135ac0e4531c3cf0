// flopcast plan as people call it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/testing.h"

namespace flopcast::cli {
namespace {

Answered planned(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"plan",  "gpt-3-1.3b", "--global-batch", "64",
                                        "--seq", "2048",       "--max-tp",       "2",
                                        "--pp",  "1",          "--top",          "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return answer_to(arguments);
}

bool tells(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(PlanCommand, FitsWithTheOddsThatAreAskedFor) {
  const auto odds_of = [](const char* odds) {
    const Answered answer =
        planned({"--on", "1 x dgx-h100", "--memory", "0.2", "--fit-odds", odds, "--json"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    const auto json = nlohmann::json::parse(answer.out);
    EXPECT_EQ(json["asked"]["fit_odds"], std::stod(odds));
    for (const auto& one : json["best"]) EXPECT_GE(one["fit_odds"], std::stod(odds) - 1e-9);
    return json["pareto"][0]["time_s"].get<double>();
  };
  EXPECT_LE(odds_of("0.5"), odds_of("0.9"));
  EXPECT_LE(odds_of("0.9"), odds_of("0.999"));
  for (const char* odds : {"0", "1", "90%", "-1"}) {
    EXPECT_EQ(planned({"--on", "1 x dgx-h100", "--fit-odds", odds}).code, 2) << odds;
  }
}

// Where nothing fits with such odds, the plans at the edge are named.
TEST(PlanCommand, NamesThePlanAtTheEdgeWhereNothingElseFits) {
  const auto leanest =
      nlohmann::json::parse(planned({"--on", "1 x dgx-h100", "--json"}).out)["leanest"];
  const double share = leanest["memory_bytes"].get<double>() / 85899345920.0;
  const Answered answer =
      planned({"--on", "1 x dgx-h100", "--memory", std::to_string(share * 1.001)});
  EXPECT_EQ(answer.code, 4);
  EXPECT_TRUE(tells(answer.err, "with odds of 90.0 % or more")) << answer.err;
  EXPECT_TRUE(tells(answer.err, "at the edge (--fit-odds 0.5)")) << answer.err;
}

TEST(PlanCommand, ComparesClustersAndTellsOfTheWholeRun) {
  const Answered text = planned({"--on", "1 x dgx-h100", "--on", "1 x dgx-h200", "--tokens", "1T",
                                 "--chip-mtbf", "50000h", "--checkpoint-time", "30s"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(tells(text.out, "the whole run")) << text.out;
  EXPECT_TRUE(tells(text.out, "USD a chip and hour: ")) << "whose price it is:\n" << text.out;
  EXPECT_TRUE(tells(text.out, "Fastest: 1 x dgx-h200")) << text.out;
  EXPECT_EQ(planned({"--on", "1 x dgx-h100", "--on", "1 x dgx-h100"}).code, 2);
  EXPECT_TRUE(
      tells(planned({"--on", "1 x dgx-h100", "--on", "1 x dgx-h200", "--price", "1,2,3"}).err,
            "--price: 3 prices for 2 clusters"));
  EXPECT_TRUE(
      tells(planned({"--on", "1 x dgx-h100", "--co2", "0.4"}).err, "--tokens: is not given"));
  const Answered hopeless = planned(
      {"--on", "1 x dgx-h100", "--tokens", "1T", "--chip-mtbf", "10s", "--checkpoint-time", "30s"});
  EXPECT_EQ(hopeless.code, 2);
  EXPECT_TRUE(tells(hopeless.err, "does not get on")) << hopeless.err;
}

TEST(PlanCommand, ARunIsPartOfTheQuestionThatAFileOfResultsAnswers) {
  const Answered with = planned({"--on", "1 x dgx-h100", "--tokens", "1T", "--json"});
  const Answered without = planned({"--on", "1 x dgx-h100", "--json"});
  const auto run = nlohmann::json::parse(with.out)["asked"]["run"];
  EXPECT_EQ(run["tokens"], 1e12);
  EXPECT_TRUE(nlohmann::json::parse(without.out)["asked"]["run"].is_null());
}

}  // namespace
}  // namespace flopcast::cli
