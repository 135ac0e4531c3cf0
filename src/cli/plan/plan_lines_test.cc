// Results in a file: what is complete stays, what is torn is done again.
#include "cli/plan/plan_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

class PlanLinesTest : public testing::Test {
 protected:
  static PlanReport report(std::int64_t batch) {
    PlanReport r;
    r.model = "made up";
    r.global_batch = batch;
    return r;
  }
  std::string content() const { return test::read_text(path_); }
  void write(const std::string& text) const { test::write_text(path_, text); }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "results.jsonl";
};

TEST_F(PlanLinesTest, KeepsWhatIsThereAndAddsToIt) {
  {
    auto lines = PlanLines::open(path_);
    ASSERT_TRUE(lines) << lines.error().text();
    EXPECT_EQ(lines->find(report(1), 0, 1), nullptr);
    EXPECT_FALSE(lines->append(report(1)));
  }
  auto lines = PlanLines::open(path_);
  ASSERT_TRUE(lines);
  ASSERT_NE(lines->find(report(1), 0, 1), nullptr);
  EXPECT_EQ(lines->find(report(2), 0, 1), nullptr);
  EXPECT_EQ(lines->find(report(1), 0, 2), nullptr);  // of another cut
  EXPECT_FALSE(lines->append(report(2)));
  EXPECT_EQ(content(), plan_json_line(report(1)) + plan_json_line(report(2)));
}

TEST_F(PlanLinesTest, ATornLineIsCutOff) {
  const std::string whole = plan_json_line(report(1));
  write(whole + plan_json_line(report(2)).substr(0, 100));
  auto lines = PlanLines::open(path_);
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_EQ(content(), whole);
  EXPECT_FALSE(lines->append(report(2)));
  EXPECT_EQ(content(), whole + plan_json_line(report(2)));
}

TEST_F(PlanLinesTest, AFileOfSomethingElseIsLeftAlone) {
  const std::string notes = "my notes\nof last week";
  write(notes);
  const auto lines = PlanLines::open(path_);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(content(), notes);
}

TEST_F(PlanLinesTest, ALineWithoutEndThatIsNotOursIsLeftAlone) {
  const std::string whole = plan_json_line(report(1));
  const std::vector<std::string> others = {
      "{\"runs\":[1,2,3]}",          // one line of something else
      "{",                           // too little to tell
      "notes",                       //
      plan_json(report(1)),          // one result over several lines
      "\n" + whole,                  // an empty line before ours
      whole + "{\"runs\":[1,2,3]}",  // and behind it
      std::string("\0\0\0", 3),
  };
  for (const std::string& other : others) {
    write(other);
    const auto lines = PlanLines::open(path_);
    ASSERT_FALSE(lines) << other;
    EXPECT_EQ(lines.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(lines.error().where, path_.string());
    EXPECT_EQ(content(), other);
  }
}

TEST_F(PlanLinesTest, TheFirstLineMayBeTorn) {
  write(plan_json_line(report(1)).substr(0, 60));
  auto lines = PlanLines::open(path_);
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_FALSE(lines->append(report(1)));
  EXPECT_EQ(content(), plan_json_line(report(1)));
}

TEST_F(PlanLinesTest, TwoProcessesDoNotShareAFile) {
  const auto first = PlanLines::open(path_);
  ASSERT_TRUE(first);
  const auto second = PlanLines::open(path_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, testing::HasSubstr("another flopcast"));
}

TEST_F(PlanLinesTest, AFullDiskIsAnError) {
  auto lines = PlanLines::open("/dev/full");
  ASSERT_TRUE(lines) << lines.error().text();
  const auto problem = lines->append(report(1));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::kBadInput);
}

TEST_F(PlanLinesTest, AFolderIsNoFile) { EXPECT_FALSE(PlanLines::open(folder_.path())); }

}  // namespace
}  // namespace flopcast::cli
