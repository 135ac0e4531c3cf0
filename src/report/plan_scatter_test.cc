#include "report/plan_scatter.h"

#include <gtest/gtest.h>

#include <array>

namespace flopcast {
namespace {

TEST(PlanScatter, PutsPointsWhereTheyBelong) {
  const std::array<ScatterPoint, 3> points = {{{0, 10, '1'}, {100, 0, 'o'}, {50, 5, '.'}}};
  const std::string blank(64, ' ');
  std::string expected = "  seconds\n";
  for (int row = 0; row < 12; ++row) {
    const char* label = row == 0 ? "10.4" : row == 11 ? "-0.4" : "    ";
    expected += std::string("  ") + label + " |";
    if (row == 0) expected += "  1";
    if (row == 5) expected += blank.substr(0, 32) + '.';
    if (row == 11) expected += blank.substr(0, 61) + 'o';
    expected += '\n';
  }
  expected += "       +" + std::string(64, '-') + '\n';
  const std::string text = scatter_text(points, "GB", "seconds");
  EXPECT_EQ(text.substr(0, expected.size()), expected) << text;
  EXPECT_NE(text.find("-4"), std::string::npos);
  EXPECT_NE(text.find("104"), std::string::npos);
}

TEST(PlanScatter, OnePointOrNone) {
  EXPECT_EQ(scatter_text({}, "x", "y"), "");
  const std::array<ScatterPoint, 2> same = {{{5, 5, 'a'}, {5, 5, 'b'}}};
  const std::string text = scatter_text(same, "x", "y");
  EXPECT_NE(text.find('a'), std::string::npos);
  EXPECT_EQ(text.find('b'), std::string::npos);
}

}  // namespace
}  // namespace flopcast
