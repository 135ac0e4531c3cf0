// Estimates as text, JSON, CSV and a page, of a made-up step whose numbers can be checked by hand.
#include "report/estimate/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/render/bar.h"
#include "support/temporary_folder.h"

namespace flopcast::report {
namespace {

StageMemory made_memory(double activations_gb) {
  StageMemory memory;
  memory.weights = Bytes{10e9};
  memory.gradients = Bytes{20e9};
  memory.optimizer = Bytes{5e9};
  memory.activations = Bytes{activations_gb * 1e9};
  memory.in_flight = 2;
  return memory;
}

/// A step of 10 s: 6 s of matrix products, 3 s of bubble, 1 s of tensor-parallel transfers. Four
/// stages; the first needs 65 GB of 80, the others 45.
EstimateReport made_report() {
  EstimateReport report;
  report.model = "llama <b>";
  report.cluster = "2 x dgx-h100";
  report.chip = "h100-sxm";
  report.software = "megatron";
  report.parameters.total = report.parameters.active = 8'000'000'000;
  report.plan.tp = 4, report.plan.pp = 4;
  report.plan.global_batch = 8;
  report.plan.sequence = 4096;
  TrainingEstimate& e = report.estimate;
  e.step = Seconds{10};
  e.low = Seconds{9};
  e.high = Seconds{12};
  e.parts[static_cast<std::size_t>(TimePart::kMatrix)] = Seconds{6};
  e.parts[static_cast<std::size_t>(TimePart::kTensor)] = Seconds{1};
  e.parts[static_cast<std::size_t>(TimePart::kBubble)] = Seconds{3};
  for (int i = 0; i < 4; ++i) {
    StageEstimate stage;
    stage.layers = 8;
    stage.end = Seconds{9};
    stage.busy = Seconds{6};
    stage.memory = made_memory(i == 0 ? 30 : 10);
    e.stages.push_back(stage);
  }
  e.capacity = Bytes{80e9};
  e.memory_low = Bytes{61e9};
  e.memory_high = Bytes{69e9};
  e.fit_odds = 0.97;
  e.fits = true;
  e.tokens_per_second = 3276.8;
  e.mfu = 0.42;
  e.hfu = 0.5;
  e.rests_on = {0, 0.25, 0.75, 0, 0};
  report.assumed = {"nothing hides the sends"};
  return report;
}

EstimateReport too_big() {
  EstimateReport report = made_report();
  report.estimate.fits = false;
  report.estimate.fit_odds = 0.04;
  report.estimate.capacity = Bytes{60e9};
  FittingPlan fitting{report.plan, report.estimate};
  fitting.plan.recompute = Recompute::kFull;
  fitting.estimate.stages[0].memory.activations = Bytes{5e9};
  fitting.estimate.step = Seconds{12.5};
  fitting.estimate.fit_odds = 1;
  report.fitting.push_back(fitting);
  report.graph = GraphAnswer{Seconds{10.5}, 42, {}, {Seconds{6}, Seconds{5}}};
  report.graph->critical = {Seconds{7}, Seconds{3.5}};
  return report;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(EstimateReport, TextAnswersThenTellsWhy) {
  const std::string text = estimate_text(made_report());
  EXPECT_TRUE(has(text,
                  "10.00 s a step (10-90 %: 9.00 s to 12.00 s)\n  3,277 tokens/s, MFU 42.0 %, HFU "
                  "50.0 %\n  65.0 GB (10-90 %: 61.0 GB to 69.0 GB) of 80.0 GB, fits: 97 %"))
      << text;
  EXPECT_TRUE(has(text, "8 sequences of 4,096 tokens, bf16: 8 microbatches of 1")) << text;
  EXPECT_TRUE(has(text, "25.0 % table, 75.0 % fitted")) << text;
  EXPECT_TRUE(has(text, "nothing hides the sends"));
  EXPECT_LT(text.find("matrix products"), text.find("pipeline bubble"));
  EXPECT_LT(text.find("pipeline bubble"), text.find("tensor-parallel"));
  EXPECT_FALSE(has(text, "context-parallel transfers"));
}

TEST(EstimateReport, StagesThatLookAlikeShareARow) {
  const std::string text = estimate_text(made_report());
  EXPECT_TRUE(has(text, "\n  0 *")) << text;
  EXPECT_TRUE(has(text, "\n  1-3")) << text;
}

TEST(EstimateReport, WhatDoesNotFitSaysWhereAndWhatWould) {
  EXPECT_FALSE(memory_problem(made_report()));
  const EstimateReport report = too_big();
  const auto problem = memory_problem(report);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::kTooLarge);
  EXPECT_EQ(
      problem->text(),
      "memory of pipeline stage 0: a chip needs 65.0 GB (10-90 %: 61.0 GB to 69.0 GB), 5.0 GB "
      "more than the 60.0 GB it may use; fits: 4 %, 90.0 % are asked for (--fit-odds); "
      "activations of microbatches in flight take 30.0 GB (nearest plan that fits: recompute "
      "full; 12.50 s a step, 40.0 GB, fits: > 99 %)");
  const std::string text = estimate_text(report);
  EXPECT_TRUE(text.starts_with("DOES NOT FIT: memory of pipeline stage 0: a chip needs 65.0 GB"))
      << text;
  EXPECT_TRUE(has(text, "\n  nearest plan that fits: recompute full; 12.50 s a step, 40.0 GB"))
      << text;
  EXPECT_TRUE(has(text, "DOES NOT FIT: 65.0 GB (10-90 %: 61.0 GB to 69.0 GB) of 60.0 GB")) << text;
  EXPECT_TRUE(has(text, "recompute full")) << text;
}

TEST(EstimateReport, TheGraphIsASecondOpinion) {
  const std::string text = estimate_text(too_big());
  EXPECT_TRUE(
      has(text, "Run as an execution graph of 42 tasks: 10.50 s a step, +5.00 % from the closed"))
      << text;
  EXPECT_TRUE(has(text, "7.000 s  66.7 %")) << text;
  const auto json = nlohmann::json::parse(estimate_json(too_big()))["graph"];
  EXPECT_DOUBLE_EQ(json["time_s"], 10.5);
  EXPECT_EQ(json["tasks"], 42);
  EXPECT_DOUBLE_EQ(json["critical_s"]["backward"], 3.5);
  EXPECT_EQ(json["busy_s"].size(), 2u);
  EXPECT_TRUE(nlohmann::json::parse(estimate_json(made_report()))["graph"].is_null());
}

TEST(EstimateReport, JsonHoldsSiUnits) {
  const auto json = nlohmann::json::parse(estimate_json(too_big()));
  EXPECT_DOUBLE_EQ(json["time_s"], 10);
  EXPECT_DOUBLE_EQ(json["parts_s"]["bubble"], 3);
  EXPECT_DOUBLE_EQ(json["stages"][0]["memory_bytes"]["activations"], 30e9);
  EXPECT_DOUBLE_EQ(json["stages"][0]["memory_bytes"]["total"], 65e9);
  EXPECT_EQ(json["plan"]["tp"], 4);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["fitting"][0]["change"], "recompute full");
  EXPECT_DOUBLE_EQ(json["rests_on"]["table"], 0.25);
  double sum = 0;
  for (const auto& part : json["parts_s"]) sum += part.get<double>();
  EXPECT_DOUBLE_EQ(sum, 10);
}

TEST(EstimateReport, CsvHasARowForEachReport) {
  const std::vector<EstimateReport> reports = {made_report(), too_big()};
  const std::string csv = estimate_csv(reports);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  const auto cells_of = [&](std::size_t line) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line; ++i) begin = csv.find('\n', begin) + 1;
    const std::string text = csv.substr(begin, csv.find('\n', begin) - begin);
    return std::count(text.begin(), text.end(), ',');
  };
  EXPECT_EQ(cells_of(0), cells_of(1));
  EXPECT_TRUE(has(csv, ",matrix_s,"));
  EXPECT_TRUE(has(csv, ",activations_bytes,"));
  EXPECT_TRUE(has(csv, ",10,9,12,3276.8,0.42,0.5,"));
}

TEST(EstimateReport, ThePageHoldsItsDataAndNothingEndsItsScript) {
  for (const EstimateReport& report : {made_report(), too_big()}) {
    const std::string page = estimate_html(report);
    const std::string open = "id=\"data\">";
    const std::size_t begin = page.find(open) + open.size();
    const auto json =
        nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    EXPECT_EQ(json["title"], "llama <b> on 2 x dgx-h100");
    EXPECT_EQ(json.contains("problem"), !report.estimate.fits);
    EXPECT_EQ(json["part_meanings"].size(), kTimeParts);
    EXPECT_EQ(json["memory_meanings"].size(), 7u);
    EXPECT_EQ(page.find("{{"), std::string::npos);
    EXPECT_EQ(page.find("/*{{"), std::string::npos);
  }
}

TEST(EstimateReport, PlacementInWords) {
  Placement placement;
  EXPECT_EQ(placement_words(placement), "chips numbered through");
  placement.tiers = {8, 16};
  placement.inside = {{4, 1, 1, 2, 1}, {4, 1, 1, 4, 1}};
  EXPECT_EQ(placement_words(placement), "within 8 chips: tp 4 x dp 2");
}

TEST(Bar, InEighths) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1e-9, 4), "▏");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(0.59375, 4), "██▍");
  EXPECT_EQ(bar(7, 4), "████");
}

}  // namespace
}  // namespace flopcast::report
