#include "cost/model/grid.h"
#include "base/numeric/mix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "cost/fit/grid.h"

namespace flopcast::cost {
namespace {

Grid<3> random_grid(std::uint64_t seed) {
  Grid<3> grid({Axis({1, 2, 3, 64, 65, 1024}), Axis({1, 32, 4096}), Axis({1, 7, 100, 1e6})});
  for (std::size_t i = 0; i < grid.values().size(); ++i) {
    grid.values()[i] = static_cast<float>(mix(seed + i) % 1000) / 100;
  }
  return grid;
}

TEST(Axis, FindsTheKnotsAroundAPoint) {
  const Axis axis({1, 2, 4, 4.5, 1024});
  EXPECT_EQ(axis.find(-3).index, 0U);
  EXPECT_EQ(axis.find(-3).fraction, 0);
  EXPECT_EQ(axis.find(0.5).index, 0U);
  EXPECT_DOUBLE_EQ(axis.find(0.5).fraction, 0.5);
  EXPECT_EQ(axis.find(std::log2(4.2)).index, 2U);
  EXPECT_EQ(axis.find(99).index, 3U);
  EXPECT_DOUBLE_EQ(axis.find(99).fraction, 1);
  for (std::size_t i = 0; i + 1 < axis.size(); ++i) {
    const Axis::Place place = axis.find(axis.log2_knot(i));
    EXPECT_NEAR(static_cast<double>(place.index) + place.fraction, static_cast<double>(i), 1e-12);
  }
}

TEST(Grid, IsExactAtItsKnots) {
  const Grid<3> grid = random_grid(1);
  for (std::size_t i = 0; i < grid.values().size(); ++i) {
    const auto [a, b, c] = grid.knot(i);
    EXPECT_NEAR(grid.at({std::log2(a), std::log2(b), std::log2(c)}), grid.values()[i], 1e-5);
  }
}

RC_GTEST_PROP(Grid, NeverFallsOnceMadeMonotone, (std::uint64_t seed)) {
  Grid<3> grid = random_grid(seed);
  std::vector<double> values(grid.values().begin(), grid.values().end());
  const std::vector<double> support(values.size(), 1.0);
  constexpr std::array<bool, 3> kAxes = {true, true, true};
  make_monotone(shape_of(grid.axes()), kAxes, support, values);
  std::copy(values.begin(), values.end(), grid.values().begin());
  Grid<3>::Point point;
  for (double& x : point) x = *rc::gen::inRange(-200, 2200) / 100.0;
  const auto d = static_cast<std::size_t>(*rc::gen::inRange(0, 3));
  const double before = grid.at(point);
  point[d] += *rc::gen::inRange(0, 500) / 100.0;
  RC_ASSERT(grid.at(point) >= before - 1e-6);
}

TEST(Grid, MonotoneNumbersStayAsTheyAre) {
  std::vector<double> values(12);
  std::iota(values.begin(), values.end(), 0.0);
  const std::vector<double> before = values;
  const std::array<std::size_t, 2> shape = {3, 4};
  constexpr std::array<bool, 2> kAxes = {true, true};
  make_monotone(shape, kAxes, std::vector<double>(12, 1.0), values);
  EXPECT_EQ(values, before);
}

TEST(Grid, MonotoneNumbersAreTheNearest) {
  // One line: isotonic regression by hand.
  std::vector<double> values = {1, 5, 3, 7};
  const std::array<std::size_t, 1> shape = {4};
  constexpr std::array<bool, 1> kAxes = {true};
  make_monotone(shape, kAxes, std::vector<double>{1, 3, 1, 1}, values);
  EXPECT_DOUBLE_EQ(values[0], 1);
  EXPECT_DOUBLE_EQ(values[1], 4.5);
  EXPECT_DOUBLE_EQ(values[2], 4.5);
  EXPECT_DOUBLE_EQ(values[3], 7);
}

TEST(FitGrid, FollowsASmoothFunctionAndIsConstantBeyondIt) {
  const std::array<Axis, 2> axes = {Axis({1, 2, 4, 8, 16, 32, 1024}), Axis({1, 4, 16, 64})};
  const auto truth = [](double a, double b) { return 0.3 * std::sin(a) + 0.1 * b; };
  std::vector<Grid<2>::Point> points;
  std::vector<double> y;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double a = 5 * static_cast<double>(mix(i) % 997) / 997;
    const double b = 6 * static_cast<double>(mix(i + 7919) % 991) / 991;
    points.push_back({a, b});
    y.push_back(truth(a, b));
  }
  y[17] += 50;  // one absurd measurement
  const GridDesign design = make_design<2>(axes, points);
  const std::vector<double> fitted =
      fit_grid(axes, design, y, {{0.02, 0.02}, {0.005, 0.005}, 0.1}, std::vector<double>(28, 0.0));
  Grid<2> grid(axes);
  std::copy(fitted.begin(), fitted.end(), grid.values().begin());
  EXPECT_NEAR(grid.at({2.5, 3}), truth(2.5, 3), 0.03);
  EXPECT_NEAR(grid.at({9, 3}), grid.at({5, 3}), 0.08);
}

}  // namespace
}  // namespace flopcast::cost
