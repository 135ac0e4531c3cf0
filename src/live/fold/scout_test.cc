#include "live/fold/scout.h"

#include <gtest/gtest.h>

namespace flopcast::live {
namespace {

TEST(LiveScout, ChildrenOfARankAreNoRanks) {
  Trails trails;
  Scout scout(trails);
  scout.came(0);
  scout.came(0);  // a worker, which goes on
  Record step;
  step.act = Act::kMark;
  EXPECT_FALSE(scout.enough(1));
  scout.took(0, 0, step, "Optimizer.step#SGD.step");
  EXPECT_TRUE(scout.enough(1));
  EXPECT_FALSE(scout.enough(2));
  const std::vector<Scouted> ranks = scout.take();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_TRUE(ranks.front().stepped);
}

}  // namespace
}  // namespace flopcast::live
