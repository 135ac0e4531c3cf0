#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/whatif/testing.h"
#include "report/whatif/words.h"
#include "support/temporary_folder.h"

namespace flopcast::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(WhatIfText, FirstLineIsTheAnswer) {
  const std::string text = whatif_text(test::made_report());
  EXPECT_THAT(text, StartsWith("GPU step: 40.00 ms -> 25.00 ms (24.00 ms to 27.00 ms), -37.50 %, "
                               "1.60 x faster\n"));
  EXPECT_THAT(text, HasSubstr("made, 2 ranks: remove straggler:1, scale kernel:gemm=0.5\n"));
  EXPECT_THAT(text, HasSubstr("host step: 41.00 ms -> 26.00 ms"));
}

TEST(WhatIfText, HoldsEveryPartOfTheAnswer) {
  const std::string text = whatif_text(test::made_report());
  for (const char* part :
       {"GPU: matrix products", "communication that nothing hides", "ProfilerStep#2", "-6.00 ms",
        "-4.00 ms", "-9.00 ms", "typical against recorded lags", "median of its equals", "modelled",
        "25.0 %", "tokens per second  100,000  123,456", "+23.46 %", "41.5 %", "not known: memory",
        "network: every transfer", "cannot finish"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(WhatIfText, WaterfallBarsBeginWhereTheStepWas) {
  const std::string text = whatif_text(test::made_report());
  const std::size_t at = text.find("scale kernel:gemm=0.5", text.find("one by one"));
  const std::string line = text.substr(at, text.find('\n', at) - at);
  // 25 ms of 40 are 25 of 40 columns: the bar of 9 ms begins there.
  EXPECT_THAT(line, HasSubstr("25.000  " + std::string(25, ' ') + "█"));
}

TEST(WhatIfText, LongerStepsAreSlowerAndEqualOnesUnchanged) {
  EXPECT_EQ(change_words(test::ms(40), test::ms(50)), "+25.00 %, 1.25 x slower");
  EXPECT_EQ(change_words(test::ms(40), test::ms(40)), "no change");
  EXPECT_EQ(signed_time(test::ms(3)), "+3.00 ms");
  EXPECT_EQ(signed_time(Time{}), "0");
}

TEST(WhatIfText, RefusalNamesTheMissingEvidenceFirst) {
  WhatIfReport report;
  report.recording = "made";
  report.answer = test::refused_answer();
  const std::string text = whatif_text(report);
  EXPECT_THAT(text, StartsWith("No answer"));
  EXPECT_THAT(text, HasSubstr("set layers=8: no layers were found: record with module rows"));
  EXPECT_THAT(text, Not(HasSubstr("GPU step")));
}

TEST(WhatIfText, RecordingsWithoutGpuAreJudgedByTheHost) {
  WhatIfReport report = test::made_report();
  report.answer.before = report.answer.after = Time{};
  EXPECT_THAT(whatif_text(report), StartsWith("host step: 41.00 ms -> 26.00 ms"));
}

TEST(WhatIfText, SensitivityAloneIsOfTheRecordedStep) {
  WhatIfReport report = test::made_report();
  report.answer.changes = {};
  report.answer.after = report.answer.before;
  const std::string text = whatif_text(report);
  EXPECT_THAT(text, StartsWith("GPU step: 40.00 ms\n"));
  EXPECT_THAT(text, HasSubstr("-55.00 %"));  // without matrix products: 18 of 40 ms
  EXPECT_THAT(text, Not(HasSubstr("The band")));
}

TEST(WhatIfText, ControlCharactersOfARecordingAreShown) {
  WhatIfReport report = test::made_report();
  report.recording = "a\x1b[2Jb";
  EXPECT_THAT(whatif_text(report), HasSubstr("a\\u001b[2Jb"));
}

TEST(WhatIfText, ChangesReadAsOnTheCommandLine) {
  WhatIfChanges changes;
  changes.set = {{"dp", "64"}, {"schedule", "zb-h1"}};
  changes.add = {"overlap"};
  changes.kernels_from = "other";
  changes.chip = "mi300x";
  changes.on = "64 x dgx-h100";
  changes.scale_only = true;
  EXPECT_EQ(changes_line(changes),
            "set dp=64, set schedule=zb-h1, add overlap, kernels from other, chip mi300x, "
            "on 64 x dgx-h100, collectives alone");
  EXPECT_EQ(changes_line({}), "nothing changed");
}

TEST(WhatIfJson, HasTheAnswerInSeconds) {
  const auto document = nlohmann::json::parse(whatif_json(test::made_report()));
  EXPECT_EQ(document.at("before_s"), 0.04);
  EXPECT_EQ(document.at("after_s"), 0.025);
  EXPECT_EQ(document.at("band").at("high_s"), 0.027);
  EXPECT_EQ(document.at("causes").at(0).at("backwards_s"), -0.004);
  EXPECT_TRUE(document.at("causes").at(1).at("backwards_s").is_null());
  EXPECT_EQ(document.at("notes").at(0).at("how"), "modelled");
  EXPECT_EQ(document.at("sensitivity").at(0).at("limit_s"), 0.018);
  EXPECT_TRUE(document.at("sensitivity").at(2).at("less_s").is_null());
}

TEST(WhatIfJson, RefusedQuestionsHaveNoNumbers) {
  WhatIfReport report;
  report.answer = test::refused_answer();
  const auto document = nlohmann::json::parse(whatif_json(report));
  EXPECT_EQ(document.at("refused").at(0).at("change"), "set layers=8");
  EXPECT_FALSE(document.contains("after_s"));
}

std::vector<WhatIfQuestion> three_questions() {
  return {{"faster", {}, test::made_answer()},
          {"deeper", {}, test::refused_answer()},
          {"wrong", usage_error("set", "there is no 'layer'", "did you mean layers?"), {}}};
}

TEST(WhatIfQuestions, EveryOneIsARowAndWhyNotFollows) {
  const std::string text = questions_text("made", three_questions());
  EXPECT_THAT(text, StartsWith("made: 3 questions\n"));
  EXPECT_THAT(text, HasSubstr("24.000 to 27.000"));
  EXPECT_THAT(text, HasSubstr("-37.50 %"));
  EXPECT_THAT(text, HasSubstr("deeper: set layers=8: no layers were found"));
  EXPECT_THAT(text, HasSubstr("did you mean layers?"));
}

TEST(WhatIfQuestions, EveryOneIsOneLineOfJson) {
  for (const WhatIfQuestion& question : three_questions()) {
    const std::string line = question_json("made", question);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto document = nlohmann::json::parse(line);
    EXPECT_EQ(document.at("id"), question.id);
    EXPECT_EQ(document.contains("failure"), question.failure.has_value());
    EXPECT_EQ(document.contains("after_s"), question.id == "faster");
  }
}

}  // namespace
}  // namespace flopcast::report
