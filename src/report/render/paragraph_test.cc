#include "report/render/paragraph.h"

#include <gtest/gtest.h>

namespace flopcast::report {
namespace {

TEST(Paragraph, FoldsBetweenWordsUnderTheFirst) {
  const std::string word(30, 'x');
  EXPECT_EQ(paragraph("  - ", word + ' ' + word + ' ' + word),
            "  - " + word + ' ' + word + "\n    " + word + '\n');
}

TEST(Paragraph, KeepsShortTextsAndWordsThatAreWider) {
  EXPECT_EQ(paragraph("a: ", "b c"), "a: b c\n");
  const std::string wide(200, 'x');
  EXPECT_EQ(paragraph("  ", wide + " y"), "  " + wide + "\n  y\n");
}

TEST(Paragraph, LeavesPercentSignsBesideTheirNumbers) {
  EXPECT_EQ(paragraph("", std::string(74, 'x') + " 12.5 %, y"),
            std::string(74, 'x') + "\n12.5 %, y\n");
}

TEST(Paragraph, CountsCharactersNotBytes) {
  std::string text;
  for (int i = 0; i < 38; ++i) text += "\u00fc ";
  EXPECT_EQ(paragraph("", text + "\u00fc").find('\n'), 38u * 3 + 2);
}

}  // namespace
}  // namespace flopcast::report
