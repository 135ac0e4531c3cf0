#include "base/numeric/quantile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "base/numeric/median.h"

namespace flopcast {
namespace {

TEST(Quantile, IsLinearBetweenOrderStatistics) {
  const std::vector<double> values = {1, 2, 4};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.25), 1.5);
  EXPECT_EQ(quantile(values, 0.5), 2);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(UpperMedian, IsTheUpperOneOfTwo) {
  std::vector<int> values = {4, 1, 3, 2};
  EXPECT_EQ(upper_median(values), 3);
  std::vector<int> none;
  EXPECT_EQ(upper_median(none, 7), 7);
}

RC_GTEST_PROP(Quantile, NeverFallsAndStaysInside, (std::vector<int> drawn)) {
  RC_PRE(!drawn.empty());
  std::vector<double> values(drawn.begin(), drawn.end());
  std::ranges::sort(values);
  double before = values.front();
  for (int i = 0; i <= 20; ++i) {
    const double now = quantile(values, i / 20.0);
    RC_ASSERT(now >= before && now <= values.back());
    before = now;
  }
}

RC_GTEST_PROP(UpperMedian, OfAnOddNumberIsTheQuantile, (std::vector<int> values)) {
  RC_PRE(values.size() % 2 == 1);
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  RC_ASSERT(upper_median(values) == quantile(sorted, 0.5));
}

}  // namespace
}  // namespace flopcast
