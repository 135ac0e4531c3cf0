#include "flopcast/published/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shared_traces.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(PaperCases, EqualTheExpectedValues) {
  const Result<PaperValidation> validation =
      validate_paper_cases(test::data_path("transformer_model.json"));
  ASSERT_TRUE(validation.ok());
  for (const auto& checks : {validation->published, validation->repaired}) {
    const PaperSummary summary = summarise(checks);
    EXPECT_GT(summary.n, 50);
    EXPECT_EQ(summary.failures, 0);
    EXPECT_EQ(summary.mismatches, 0);
    EXPECT_LE(summary.max_rel, 1e-9) << summary.worst;
  }
}

// B200: 7 x 5 us + 7/8 x 20 MB / 70 GB/s, and with the repair twice the bytes.
std::string all_reduce(const std::string& expected, const std::string& repaired) {
  return R"({"cases": [{"id": "one", "kind": "collective",
    "input": {"volume_GB": 0.02, "group_size": 8, "gpus_in_nvs": 1, "type": "allreduce",
      "system_name": "B200", "system": {"matrix_flops_fp16": 2500, "vector_flops_fp16": 339,
        "hbm_bandwidth": 8000, "hbm_capacity": 192, "nvlink_bandwidth": 900, "nvlink_eff": 0.7,
        "nvlink_latency": 2.5e-06, "ib_bandwidth": 100, "ib_eff": 0.7, "ib_latency": 5e-06,
        "nvlink_size": 8, "nic_factor": 1}},
    "expected": {"t": )" +
         expected + R"(}, "expected_fixed": )" + repaired + "}]}";
}

TEST(PaperCases, BothModesAreHeldAgainstTheirOwnValues) {
  const auto right = validate_paper_cases(all_reduce("0.000285", R"({"t": 0.000535})"), "text");
  ASSERT_TRUE(right.ok());
  EXPECT_LT(summarise(right->published).max_rel, 1e-14);
  EXPECT_LT(summarise(right->repaired).max_rel, 1e-14);
  const auto same = validate_paper_cases(all_reduce("0.000285", "null"), "text");
  EXPECT_NEAR(summarise(same->repaired).max_rel, 0.000535 / 0.000285 - 1, 1e-12);
}

TEST(PaperCases, SumUpByKindAndNameTheWorst) {
  const auto wrong = validate_paper_cases(all_reduce("0.000300", R"({"t": 0.000535})"), "text");
  const PaperSummary summary = summarise(wrong->published, "collective");
  EXPECT_EQ(summary.n, 1);
  EXPECT_EQ(summary.worst, "one t");
  EXPECT_NEAR(summary.max_rel, 0.05, 1e-12);
  EXPECT_EQ(summarise(wrong->published, "search").n, 0);
}

std::string search_case(const std::string& expected) {
  return R"({"cases": [{"id": "s", "kind": "search", "expected_fixed": null,
    "input": {"strategy": "1D", "model_name": "gpt3", "n_gpus": 512, "global_batch": 1024,
      "model": {"l": 2048, "e": 12288, "h": 96, "depth": 96, "f": 49152},
      "system_name": "A100", "system": {"matrix_flops_fp16": 312, "vector_flops_fp16": 78,
        "hbm_bandwidth": 1555, "hbm_capacity": 80, "nvlink_bandwidth": 300, "nvlink_eff": 0.7,
        "nvlink_latency": 2.5e-06, "ib_bandwidth": 25, "ib_eff": 0.7, "ib_latency": 5e-06,
        "nvlink_size": 4, "nic_factor": 1}},
    "expected": )" +
         expected + "}]}";
}

TEST(PaperCases, DiscreteChoicesAreComparedByTheirNames) {
  const auto wrong = validate_paper_cases(
      search_case(R"({"candidates": 1119, "feasible": 239, "t": 22.46888, "top10_t": [],
        "parallel": {"n1": 4, "n2": 1, "np": 32, "nd": 4, "bm": 1},
        "nvs_assignment": {"nvs_1": 4, "nvs_2": 1, "nvs_p": 1, "nvs_d": 1}})"),
      "text");
  ASSERT_TRUE(wrong.ok());
  ASSERT_EQ(wrong->published[0].mismatches.size(), 3);
  EXPECT_EQ(wrong->published[0].mismatches[0], "candidates: 1119 expected, 1118 found");
  EXPECT_THAT(wrong->published[0].mismatches[1],
              HasSubstr("tp 4x1 pp 32 dp 4 microbatch 1 panels 1, in a domain tp 4x1 pp 1 dp 1 "
                        "expected, tp 4x1 pp 16 dp 8"));
}

TEST(PaperCases, ABadCaseIsNamedAndTheOthersAreRead) {
  const std::string good = all_reduce("0.000285", R"({"t": 0.000535})");
  const std::string text = R"({"cases": [{"id": "x", "kind": "config", "input": {}}, 7,
      {"id": "y", "kind": "other", "input": {}, "expected": {}}, )" +
                           good.substr(good.find('[') + 1);
  const auto validation = validate_paper_cases(text, "f.json");
  ASSERT_TRUE(validation.ok());
  const PaperSummary summary = summarise(validation->published);
  EXPECT_EQ(summary.n, 1);
  EXPECT_EQ(summary.failures, 3);
  EXPECT_THAT(validation->published[0].failure->text(), HasSubstr("f.json: case x: "));
  EXPECT_THAT(validation->published[0].failure->text(), HasSubstr("expected is missing"));
  EXPECT_THAT(validation->published[2].failure->text(), HasSubstr("kind 'other' is unknown"));
}

TEST(PaperCases, WhatIsNoFileOfCasesIsAnError) {
  EXPECT_THAT(validate_paper_cases("[1, 2]", "f.json").error().text(), HasSubstr("f.json"));
  EXPECT_FALSE(validate_paper_cases("{\"cases\": 3}", "f.json").ok());
  EXPECT_FALSE(validate_paper_cases("{\"cases\"", "f.json").ok());
  EXPECT_THAT(validate_paper_cases(std::filesystem::path("/no/such/file")).error().text(),
              HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace flopcast
