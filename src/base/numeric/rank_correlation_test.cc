#include "base/numeric/rank_correlation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace flopcast {
namespace {

// Without ties it is 1 - 6 sum d^2 / (n (n^2 - 1)): here d = 1, 1, 0, 1, 1.
TEST(RankCorrelation, IsSpearmansWithoutTies) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4, 5}, {20, 10, 30, 500, 40}),
                   1 - 6.0 * 4 / (5 * 24));
}

// Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
TEST(RankCorrelation, TiesShareTheirRanks) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5));
  EXPECT_EQ(rank_correlation({2, 2, 2}, {1, 2, 3}), 0);
  EXPECT_EQ(rank_correlation({}, {}), 0);
}

RC_GTEST_PROP(RankCorrelation, HoldsForWhateverRises, (std::set<std::int16_t> drawn)) {
  RC_PRE(drawn.size() > 1);
  std::vector<double> values(drawn.begin(), drawn.end()), risen, fallen;
  for (const double v : values) {
    risen.push_back(std::exp(v / 1e4));
    fallen.push_back(-v);
  }
  RC_ASSERT(std::abs(rank_correlation(values, risen) - 1) < 1e-12);
  RC_ASSERT(std::abs(rank_correlation(values, fallen) + 1) < 1e-12);
}

}  // namespace
}  // namespace flopcast
