#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/whatif/page_runs.h"
#include "report/whatif/testing.h"

namespace flopcast::report {
namespace {

using nlohmann::json;

json document_of(const std::string& page, const std::string& id) {
  const std::string from = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t begin = page.find(from) + from.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

/// The run after as rows of its own: one rank more, that has another kernel.
std::pair<WhatIfRun, WhatIfRun> other_rows() {
  std::pair<WhatIfRun, WhatIfRun> runs = test::made_runs();
  TraceSet set = test::made_set();
  set.traces.push_back(test::make_trace(
      set, 2,
      {{"ProfilerStep#1", Category::kUserAnnotation, 0, 44}, {"new", Category::kKernel, 3, 9, 7}}));
  runs.second.set = std::make_shared<const TraceSet>(std::move(set));
  runs.second.replay = test::made_replay(*runs.second.set);
  return runs;
}

TEST(WhatIfPage, NeedsNothingFromOutside) {
  const std::string page = whatif_html(test::made_report(), test::made_runs());
  for (const char* outside : {"http://", "https://", "src=", "@import", "<link", "{{", "/*{{"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST(WhatIfPage, HoldsTheAnswerAndOneStepOfBothRuns) {
  const std::string page = whatif_html(test::made_report(), test::made_runs());
  EXPECT_EQ(document_of(page, "answer").at("after_s"), 0.025);
  EXPECT_EQ(document_of(page, "answer").at("step_kind"), "GPU step");
  const json rows = document_of(page, "rows");
  EXPECT_EQ(rows.at("runs"), json({"before", "after"}));
  ASSERT_EQ(rows.at("ranks").size(), 2u);
  EXPECT_FALSE(rows.contains("names_after"));
  // made_replay's GPU step of 39 us, from the start of the host step.
  EXPECT_EQ(rows.at("length_ns"), 39000);
  EXPECT_EQ(rows.at("ranks").at(0).at("steps").at(0), json({"ProfilerStep#1", 0, 39000, 0, 39000}));
}

TEST(WhatIfPage, RowsOutsideTheStepAreLeftOut) {
  std::pair<WhatIfRun, WhatIfRun> runs = test::made_runs();
  // The copy of rank 1 runs after 40 us: in neither step.
  const json rows = json::parse(drawn_runs(runs, test::made_answer()));
  EXPECT_EQ(rows.at("ranks").at(1).at("lanes").at(0).at("rows"), 2);
}

TEST(WhatIfPage, AnotherStructureHasRowsOfItsOwn) {
  const json rows = json::parse(drawn_runs(other_rows(), test::made_answer()));
  ASSERT_EQ(rows.at("ranks").size(), 3u);
  EXPECT_EQ(rows.at("ranks").at(0).at("after").at("lanes").at(0).at("name"), "stream 7");
  EXPECT_TRUE(rows.at("ranks").at(2).at("lanes").empty());
  EXPECT_THAT(rows.at("names_after").get<std::vector<std::string>>(), testing::Contains("new"));
}

TEST(WhatIfPage, RefusedQuestionsHaveAPageWithoutRuns) {
  WhatIfReport report;
  report.recording = "made";
  report.answer = test::refused_answer();
  const std::string page = whatif_html(report, std::nullopt);
  EXPECT_TRUE(document_of(page, "rows").at("ranks").empty());
  EXPECT_EQ(document_of(page, "answer").at("refused").size(), 1u);
}

TEST(WhatIfPage, TextOfARecordingCannotLeaveItsPlace) {
  WhatIfReport report = test::made_report();
  report.recording = "</title><script>{{rows}}";
  report.answer.notes.push_back({"</script><script>alert(1)</script>", "copied", 0, 0});
  const std::string page = whatif_html(report, test::made_runs());
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</title><script>"), std::string::npos);
}

TEST(DrawnStep, IsTheOneNearestToTheAnswer) {
  Replay replay;
  const auto step = [](const char* name, std::int64_t start, std::int64_t gpu) {
    StepResult s;
    s.name = name;
    s.replayed_start = Time::from_us(start);
    s.replayed_end = Time::from_us(start + 5);
    s.replayed_gpu = Time::from_us(gpu);
    return s;
  };
  replay.steps = {{step("a", 0, 100), step("b", 5, 40), step("c", 10, 30)},
                  {step("a", 0, 102), step("b", 5, 41), step("c", 10, 32)}};
  const DrawnStep drawn = drawn_step(replay, Time::from_us(39));
  EXPECT_EQ(drawn.name, "b");
  // It begins where the first rank's "a" ended, and ends with the last rank's own.
  EXPECT_EQ(drawn.from, Time::from_us(100));
  EXPECT_EQ(drawn.to, Time::from_us(143));
}

TEST(DrawnRanks, AreEvenlySpacedWithFirstAndLast) {
  EXPECT_EQ(drawn_ranks(3, 8), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(drawn_ranks(512, 3), (std::vector<std::size_t>{0, 255, 511}));
  EXPECT_EQ(drawn_ranks(5, 1), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(drawn_ranks(0, 8).empty());
}

}  // namespace
}  // namespace flopcast::report
