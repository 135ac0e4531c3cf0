#include "serving/schedule/progress.h"

#include <gtest/gtest.h>

namespace flopcast::serving {
namespace {

TEST(Progress, SumsAndInversesAreThoseOfItsSteps) {
  for (const double accepted : {1.0, 1.3, 1.79, 2.49, 4.0}) {
    const Progress progress({Speculation::Kind::kMtp, 3, accepted});
    for (const std::int64_t from : {0, 1, 7, 1000}) {
      std::int64_t sum = 0;
      for (std::int64_t steps = 0; steps < 300; ++steps) {
        EXPECT_EQ(progress.sum(from, steps), sum) << accepted << " " << from << " " << steps;
        sum += progress.tokens(from + steps) - progress.tokens(from);
      }
    }
    for (std::int64_t tokens = 1; tokens < 300; ++tokens) {
      const std::int64_t reached = progress.reach(tokens), within = progress.within(tokens);
      EXPECT_GE(progress.tokens(reached), tokens);
      EXPECT_LT(progress.tokens(reached - 1), tokens);
      EXPECT_LE(progress.tokens(within), tokens);
      EXPECT_GT(progress.tokens(within + 1), tokens);
    }
    EXPECT_NEAR(static_cast<double>(progress.tokens(100'000)) / 1e5, accepted, 1e-4);
  }
}

TEST(Progress, IsOneTokenAStepWithoutDrafts) {
  EXPECT_TRUE(Progress().plain());
  EXPECT_TRUE(Progress({Speculation::Kind::kNone, 3, 2.0}).plain());
  EXPECT_EQ(Progress().tokens(17), 17);
}

}  // namespace
}  // namespace flopcast::serving
