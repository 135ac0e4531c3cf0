#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace flopcast::cli {
namespace {

using std::chrono::milliseconds;

/// What stderr has of work of three steps.
std::string shown_progress(bool terminal, const Progress::Pace& pace) {
  std::ostringstream out, err;
  Io io{out, err, terminal};
  {
    Progress progress(io, Progress::Of::kPlans, pace);
    const auto tell = progress.callback();
    for (std::uint64_t done = 0; done < 3; ++done) tell(done, 3);
  }
  return err.str();
}

TEST(ProgressLines, OfShortWorkAreNone) {
  EXPECT_EQ(shown_progress(true, {}), "");
  EXPECT_EQ(shown_progress(false, {}), "");
}

TEST(ProgressLines, WithoutATerminalAreLines) {
  const std::string text =
      shown_progress(false, {milliseconds(0), milliseconds(0), milliseconds(0)});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("searching ["), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(ProgressLines, OnATerminalAreOneThatGoesAway) {
  const std::string text =
      shown_progress(true, {milliseconds(0), milliseconds(0), milliseconds(0)});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\033[K"));
  EXPECT_EQ(
      shown_progress(true, {milliseconds(0), milliseconds(100'000), milliseconds(0)}).find("33 %"),
      std::string::npos);
}

}  // namespace
}  // namespace flopcast::cli
