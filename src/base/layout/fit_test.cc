#include "base/layout/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text/utf8.h"

namespace flopcast {
namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

TEST(FitText, LeavesWhatFitsAndAPipeAlone) {
  const std::string text = "Head\n  a   b\n  1   2\n\n  long line of words\n";
  EXPECT_EQ(fit_text(text, 80), text);
  const std::string wide(500, 'x');
  EXPECT_EQ(fit_text(wide, 0), wide);
}

TEST(FitText, FoldsProseBetweenWordsUnderItsBeginning) {
  EXPECT_EQ(fit_text("  one two three four five six\n", 20),
            "  one two three four\n    five six\n");
  EXPECT_EQ(fit_text("abcdefghijklmnopqrstuvwxyz\n", 20), "abcdefghijklmnopqrst\n  uvwxyz\n");
}

TEST(FitText, FoldsTheTextsOfATableInTheirColumns) {
  const std::string table =
      "Kernels\n"
      "  time  name                                   from\n"
      "  1 ms  a name of many words that goes on      h100\n"
      "  2 ms  short                                  a100\n";
  EXPECT_EQ(fit_text(table, 32),
            "Kernels\n"
            "  time  name                from\n"
            "  1 ms  a name of many      h100\n"
            "        words that goes on\n"
            "  2 ms  short               a100\n");
}

TEST(FitText, CutsATableOfNumbersIntoSeveralWithTheFirstColumnInEach) {
  const std::string table =
      "  rank      first     second      third     fourth\n"
      "     0  1000000.5  2000000.5  3000000.5  4000000.5\n"
      "     1  1000000.5  2000000.5  3000000.5  4000000.5\n"
      "  mean error of all the ranks: one line of prose below the table\n";
  EXPECT_EQ(fit_text(table, 30),
            "  rank      first     second\n"
            "     0  1000000.5  2000000.5\n"
            "     1  1000000.5  2000000.5\n"
            "  rank      third     fourth\n"
            "     0  3000000.5  4000000.5\n"
            "     1  3000000.5  4000000.5\n"
            "  mean error of all the ranks:\n"
            "    one line of prose below\n"
            "    the table\n");
}

TEST(FitText, ALineOfANameAndItsTextIsATable) {
  EXPECT_EQ(fit_text("  MODEL  built in or a file of its own\n", 24),
            "  MODEL  built in or a\n         file of its own\n");
}

TEST(FitText, RepeatsAsManyColumnsAsTellRowsApart) {
  const std::string table =
      "  rank  step       first     second\n"
      "     0  a      1000000.5  2000000.5\n"
      "     0  b      1000000.5  2000000.5\n";
  EXPECT_EQ(fit_text(table, 30),
            "  rank  step      first\n"
            "     0  a     1000000.5\n"
            "     0  b     1000000.5\n"
            "  rank  step     second\n"
            "     0  a     2000000.5\n"
            "     0  b     2000000.5\n");
}

TEST(FitText, KeepsAWordWholeWhereATableOfItsOwnHasRoomForIt) {
  const std::string table =
      "  rank  any time of all  drawn\n"
      "     0           1000.5  abcdefghijklmnopqrstuvwx\n"
      "     1           2000.5  bcdefghijklmnopqrstuvwxy\n";
  EXPECT_EQ(fit_text(table, 40),
            "  rank  any time of all\n"
            "     0           1000.5\n"
            "     1           2000.5\n"
            "  rank  drawn\n"
            "     0  abcdefghijklmnopqrstuvwx\n"
            "     1  bcdefghijklmnopqrstuvwxy\n");
}

TEST(FitText, CountsCharactersNotBytes) {
  std::string line = "  ";
  for (int i = 0; i < 10; ++i) line += "\xce\xbc\xce\xbc\xce\xbc ";
  EXPECT_EQ(widest_line(fit_text(line, 24)), 23u);
  EXPECT_EQ(fit_text(line, 64), line);
}

RC_GTEST_PROP(FitTextProperty, NoLineIsWiderAndNoWordIsLost, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(16, 60);
  const auto letter = rc::gen::elementOf(std::string("ab1.   \n"));
  const auto text = *rc::gen::container<std::string>(letter);
  const std::string fitted = fit_text(text, width);
  RC_ASSERT(widest_line(fitted) <= width);
  for (const char each : {'a', 'b', '1', '.'}) {
    RC_ASSERT(std::count(fitted.begin(), fitted.end(), each) >=
              std::count(text.begin(), text.end(), each));
  }
}

}  // namespace
}  // namespace flopcast
