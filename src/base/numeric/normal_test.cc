#include "base/numeric/normal.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

// Abramowitz and Stegun, table 26.1 and 26.5.
TEST(Normal, SharesAndQuantilesAreThoseOfTheTables) {
  EXPECT_DOUBLE_EQ(normal_share(0), 0.5);
  EXPECT_NEAR(normal_share(1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(normal_share(-2), 0.0227501319481792, 1e-15);
  EXPECT_NEAR(normal_quantile(0.9), 1.2815515655446004, 1e-14);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-14);
}

TEST(Normal, OneUndoesTheOther) {
  for (const double share : {1e-9, 0.01, 0.1, 1.0 / 3, 0.5, 0.75, 0.9, 0.999}) {
    EXPECT_NEAR(normal_share(normal_quantile(share)) / share, 1, 1e-12) << share;
  }
}

}  // namespace
}  // namespace flopcast
