#include "analytic/step/group_times.h"

#include <gtest/gtest.h>

namespace flopcast::analytic {
namespace {

GroupLayout layout_of(std::uint32_t in_node, std::uint32_t members) {
  GroupLayout layout;
  layout.tiers = 2;
  layout.inside = {in_node, members};
  return layout;
}

// By hand: of 8 draws among 8 chips 8 (1 - (7/8)^8) = 5.25 are new; among 4 nodes 3.6.
TEST(GroupTimes, RowsThatGoOnceGoToFewerPlaces) {
  EXPECT_NEAR(share_sent_once(8, layout_of(8, 8)), 5.2511 / 8, 1e-4);
  EXPECT_NEAR(share_sent_once(8, layout_of(8, 32)), 3.5995 / 8, 1e-4);
  EXPECT_DOUBLE_EQ(share_sent_once(1, layout_of(8, 32)), 1);
  EXPECT_DOUBLE_EQ(share_sent_once(8, layout_of(1, 1)), 1);
}

}  // namespace
}  // namespace flopcast::analytic
