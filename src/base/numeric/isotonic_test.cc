#include "base/numeric/isotonic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace flopcast {
namespace {

TEST(Isotonic, PoolsWhatFallsByItsWeight) {
  std::vector<double> values = {1, 5, 3, 7};
  IsotonicRegression().fit(values, std::vector<double>{1, 3, 1, 1});
  EXPECT_EQ(values, (std::vector<double>{1, 4.5, 4.5, 7}));
}

TEST(Isotonic, TakesALineOfAGrid) {
  std::vector<double> values = {9, 4, 1, 2};  // two columns
  IsotonicRegression().fit(values, std::vector<double>(4, 1.0), 1, 2, 2);
  EXPECT_EQ(values, (std::vector<double>{9, 3, 1, 3}));
}

RC_GTEST_PROP(Isotonic, NeverFallsKeepsTheSumAndWhatDoesNotFall, (std::vector<int> drawn)) {
  std::vector<double> values;
  for (const int value : drawn) values.push_back(value % 1000);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const std::vector<double> ones(values.size(), 1.0);
  IsotonicRegression isotonic;
  isotonic.fit(values, ones);
  RC_ASSERT(std::is_sorted(values.begin(), values.end()));
  RC_ASSERT(std::abs(std::accumulate(values.begin(), values.end(), 0.0) - sum) < 1e-6);
  std::vector<double> again = values;
  std::ranges::sort(again);
  isotonic.fit(again, ones);
  RC_ASSERT(again == values);
}

}  // namespace
}  // namespace flopcast
