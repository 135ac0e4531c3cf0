#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/question/whatif.h"
#include "support/sample_run.h"

namespace flopcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<WhatIfCase> cases_of(const std::string& text) {
  const auto cases = parse_whatif_cases(text, "cases.json", "folder");
  EXPECT_TRUE(cases.ok()) << (cases.ok() ? "" : cases.error().text());
  return cases.ok() ? *cases : std::vector<WhatIfCase>();
}

TEST(WhatIfCases, EveryFieldIsRead) {
  const auto cases = cases_of(R"({"cases": [{"id": "all", "recording": "run",
    "changes": {"set": {"dp": 4, "tokens": 2.0, "schedule": "1f1b"},
      "scale": {"kernel:gemm": 0.8, "host": 2}, "remove": ["profiler", "straggler:2"],
      "add": "overlap", "kernels_from": "other", "chip": "mi300x", "on": "2 x dgx-h100",
      "scale_only": true},
    "truth": {"recording": "../truth"}, "judge": "host_step", "steps": ["ProfilerStep#11", 12]},
    {"truth": {"step_s": 0.5}}]})");
  ASSERT_EQ(cases.size(), 2U);
  const WhatIfCase& all = cases[0];
  EXPECT_FALSE(all.problem) << all.problem->text();
  EXPECT_EQ(all.id, "all");
  EXPECT_EQ(all.recording, "folder/run");
  EXPECT_THAT(all.changes.set, ElementsAre(std::pair("dp", "4"), std::pair("tokens", "2"),
                                           std::pair("schedule", "1f1b")));
  ASSERT_EQ(all.changes.scale.size(), 2U);
  EXPECT_EQ(all.changes.scale[0].what, "kernel:gemm");  // in the order written
  EXPECT_EQ(all.changes.scale[0].factor, 0.8);
  EXPECT_THAT(all.changes.remove, ElementsAre("profiler", "straggler:2"));
  EXPECT_THAT(all.changes.add, ElementsAre("overlap"));
  EXPECT_EQ(all.changes.kernels_from, "folder/other");
  EXPECT_EQ(all.changes.chip, "mi300x");
  EXPECT_EQ(all.changes.on, "2 x dgx-h100");
  EXPECT_TRUE(all.changes.scale_only);
  EXPECT_THAT(all.changes.steps, ElementsAre("ProfilerStep#11", "12"));
  EXPECT_EQ(all.truth_recording, "folder/../truth");
  EXPECT_TRUE(all.host_step);
  EXPECT_EQ(cases[1].id, "case 2");
  EXPECT_EQ(cases[1].truth_s, 0.5);
}

TEST(WhatIfCases, AWrongCaseSaysWhyAndLosesNoOther) {
  const auto cases = cases_of(R"([3, {"changes": {"dp": 3}}, {"changes": {"set": {"dp": [1]}}},
    {"changes": {"scale": {"host": "fast"}}}, {"truth": {}}, {"truth": {"step_s": 0}}, {"truth": {"step_s": 1e308}},
    {"judge": "step"}, {"recording": 3}, {"id": "right", "recording": "run"}])");
  const std::vector<std::string> told = {"object",  "'dp'",    "\"dp\"",   "\"host\"", "step_s",
                                         "above 0", "53 days", "gpu_step", "recording"};
  ASSERT_EQ(cases.size(), told.size() + 1);
  for (std::size_t i = 0; i < told.size(); ++i) {
    ASSERT_TRUE(cases[i].problem) << told[i];
    if (i != 1) {
      EXPECT_THAT(cases[i].problem->what, HasSubstr(told[i]));
    }
  }
  EXPECT_THAT(cases[1].problem->what, HasSubstr("\"dp\" is no change"));
  EXPECT_FALSE(cases.back().problem);
}

TEST(WhatIfCases, OtherFilesAreRefused) {
  for (const char* text : {"", "{", "{}", "[]", "3", "{\"cases\": {}}", "{\"cases\": []}"}) {
    const auto cases = parse_whatif_cases(text, "cases.json");
    ASSERT_FALSE(cases.ok()) << text;
    EXPECT_THAT(cases.error().text(), HasSubstr("cases.json")) << text;
  }
}

/// A case on the sample run.
WhatIfCase sample_case(const std::string& remove) {
  WhatIfCase asked;
  asked.id = remove.empty() ? "nothing" : remove;
  asked.recording = test::sample_run();
  if (!remove.empty()) asked.changes.remove = {remove};
  asked.truth_recording = test::sample_run();
  return asked;
}

TEST(WhatIfCases, AreComparedWithTheirTruths) {
  WhatIfCase lost = sample_case("host");
  lost.recording = "/no/such/folder";
  WhatIfCase no_change = sample_case("nonsense");
  WhatIfCase refused = sample_case("data-loading");
  refused.changes = {};
  refused.changes.scale = {{"kernel:nowhere", 2}};
  WhatIfCase wrong = sample_case("");
  wrong.problem = Diagnostic{ErrorCode::kBadInput, "wrong", "no case", "none"};
  WhatIfCase without = sample_case("");
  without.truth_recording.clear();
  WhatIfCase told = sample_case("");
  told.truth_recording.clear();
  told.truth_s = 1e3;
  const std::vector<WhatIfOutcome> outcomes = validate_whatif(
      {sample_case(""), lost, no_change, refused, wrong, without, told, sample_case("host")});
  EXPECT_EQ(outcomes[0].error(), 0.0);
  EXPECT_TRUE(outcomes[0].in_band());
  for (const std::size_t failed : {1, 2, 4, 5}) {
    EXPECT_TRUE(outcomes[failed].failure) << failed;
    EXPECT_FALSE(outcomes[failed].error()) << failed;
  }
  EXPECT_FALSE(outcomes[3].failure);
  EXPECT_EQ(outcomes[3].answer->refused.size(), 1U);
  EXPECT_LT(*outcomes[6].error(), -0.9);
  EXPECT_FALSE(outcomes[6].in_band());
  EXPECT_LT(*outcomes[7].error(), 0);  // the same steps with a free host are shorter
  const WhatIfSummary summary = summarize(outcomes);
  EXPECT_EQ(summary.cases, 8U);
  EXPECT_EQ(summary.n, 3U);
  EXPECT_EQ(summary.refused, 1U);
  EXPECT_EQ(summary.failed, 4U);
  EXPECT_EQ(summary.max_abs_error, -*outcomes[6].error());
  EXPECT_NEAR(summary.mean_abs_error, (-*outcomes[6].error() - *outcomes[7].error()) / 3, 1e-12);
}

TEST(WhatIfCases, TheHostsStepIsJudgedWhereAsked) {
  WhatIfCase asked = sample_case("");
  asked.host_step = true;
  asked.changes.steps = {"2"};
  const std::vector<WhatIfOutcome> outcomes = validate_whatif({asked});
  ASSERT_TRUE(outcomes[0].answer);
  EXPECT_EQ(*outcomes[0].forecast_s, outcomes[0].answer->host_after.seconds());
  EXPECT_EQ(outcomes[0].answer->steps.size(), 1U);
  EXPECT_EQ(outcomes[0].error(), 0.0);
}

}  // namespace
}  // namespace flopcast
