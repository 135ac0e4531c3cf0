#include "analytic/step/group_times.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flopcast::analytic {
namespace {

GroupLayout layout_of(std::uint32_t in_node, std::uint32_t members) {
  GroupLayout layout;
  layout.tiers = 2;
  layout.inside = {in_node, members};
  return layout;
}

Transfer routed(std::int64_t copies, std::int64_t groups = 1, std::int64_t drawn = 1) {
  Transfer transfer;
  transfer.copies = copies, transfer.groups = groups, transfer.top_groups = drawn;
  return transfer;
}

// By hand: of 8 draws among 8 chips 8 (1 - (7/8)^8) = 5.25 are new; among 4 nodes 3.6.
TEST(GroupTimes, RowsThatGoOnceGoToFewerPlaces) {
  EXPECT_NEAR(share_sent_once(routed(8), layout_of(8, 8)), 5.2511 / 8, 1e-4);
  EXPECT_NEAR(share_sent_once(routed(8), layout_of(8, 32)), 3.5995 / 8, 1e-4);
  EXPECT_DOUBLE_EQ(share_sent_once(routed(1), layout_of(8, 32)), 1);
  EXPECT_DOUBLE_EQ(share_sent_once(routed(8), layout_of(1, 1)), 1);
}

// DeepSeek-V3: experts in 4 of 8 groups. A group is a node: 4 nodes. A node has two: 1 - 4/8 x 3/7 of 4 nodes. Eight
// chips have a group: 32 of 64 chips.
TEST(GroupTimes, GroupsOfExpertsLimitThePlaces) {
  const auto once = [](double places) { return places * (1 - std::pow(1 - 1 / places, 8)) / 8; };
  EXPECT_NEAR(share_sent_once(routed(8, 8, 4), layout_of(8, 64)), once(4), 1e-12);
  EXPECT_NEAR(share_sent_once(routed(8, 8, 4), layout_of(8, 32)), once(4 * (1 - 3 / 14.0)), 1e-12);
  EXPECT_NEAR(share_sent_once(routed(8, 8, 4), layout_of(64, 64)), once(32), 1e-12);
  EXPECT_NEAR(share_sent_once(routed(8, 8, 8), layout_of(8, 64)), once(8), 1e-12);
}

}  // namespace
}  // namespace flopcast::analytic
