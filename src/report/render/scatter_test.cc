#include "report/render/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace flopcast::report {
namespace {

TEST(PlanScatter, PutsPointsWhereTheyBelong) {
  const std::array<ScatterPoint, 3> points = {{{0, 10, '1'}, {100, 0, 'o'}, {50, 5, '.'}}};
  const std::string blank(64, ' ');
  std::string expected = "  seconds\n";
  for (int row = 0; row < 12; ++row) {
    const char* label = row == 0 ? "10" : row == 11 ? " 0" : "  ";
    expected += std::string("  ") + label + " |";
    if (row == 0) expected += "1";
    if (row == 5) expected += blank.substr(0, 32) + '.';
    if (row == 11) expected += blank.substr(0, 63) + 'o';
    expected += '\n';
  }
  expected += "     +" + std::string(64, '-') + '\n';
  const std::string text = scatter_text(points, "GB", "seconds");
  EXPECT_EQ(text.substr(0, expected.size()), expected) << text;
  EXPECT_NE(text.find("100\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("log"), std::string::npos);
}

// Each 10 times the one before it: as many rows between them.
TEST(PlanScatter, SpreadsWhatIsFarApart) {
  const std::array<ScatterPoint, 3> points = {{{1, 1000, 'c'}, {2, 100, 'b'}, {3, 10, 'a'}}};
  const std::string text = scatter_text(points, "GB", "seconds");
  EXPECT_EQ(text.substr(0, text.find('\n')), "  seconds (log)");
  const std::string before_b = text.substr(0, text.find('b'));
  // A line of title, then rows 0 to 11: the middle is row 5 or 6.
  EXPECT_NEAR(static_cast<double>(std::count(before_b.begin(), before_b.end(), '\n')), 6.5, 0.6);
  EXPECT_EQ(text.find("GB (log)"), std::string::npos);
}

TEST(PlanScatter, OnePointOrNone) {
  EXPECT_EQ(scatter_text({}, "x", "y"), "");
  const std::array<ScatterPoint, 2> same = {{{5, 5, 'a'}, {5, 5, 'b'}}};
  const std::string text = scatter_text(same, "x", "y");
  EXPECT_NE(text.find('a'), std::string::npos);
  EXPECT_EQ(text.find('b'), std::string::npos);
}

}  // namespace
}  // namespace flopcast::report
