// Price and power by hand, each formula on a network small enough to count its links.
#include <gtest/gtest.h>

#include "flopcast/mapping.h"

namespace flopcast::mapping {
namespace {

/// Nothing costs but links (1 USD, 10 W) and switches (100 USD, 1000 W) of 1 GB/s each.
MappingSystem wired(std::vector<NetworkDimension> dimensions) {
  MappingSystem system;
  system.dimensions = std::move(dimensions);
  for (NetworkDimension& dimension : system.dimensions) dimension.bandwidth = {1e9};
  system.prices.link_usd = 1;
  system.prices.switch_usd = 100;
  system.prices.link_w = {10};
  system.prices.switch_w = 1000;
  return system;
}
using enum DimensionKind;

TEST(SystemPrice, ARingHasALinkPerChipAndTwoPorts) {
  EXPECT_EQ(system_price(wired({{kRing, 8, {}, {}}})), 8 + 2 * 100);
  // 4 x 2: 8 links either way; two rings of 4, four of 2.
  EXPECT_EQ(system_price(wired({{kRing, 4, {}, {}}, {kRing, 2, {}, {}}})),
            16 + 2 * 100 * 2 + 2 * 100 * 4);
}

TEST(SystemPrice, AFullGraphJoinsChipsByLinksAndGroupsByBoxes) {
  EXPECT_EQ(system_price(wired({{kFullyConnected, 4, {}, {}}})), 4 * 3);
  EXPECT_EQ(system_price(wired({{kFullyConnected, 4, {}, {}}, {kFullyConnected, 3, {}, {}}})),
            12 * 3 + 3 * 2 + 3 * 3 * 100);
}

TEST(SystemPrice, ASwitchHasAPortForEachGroup) {
  EXPECT_EQ(system_price(wired({{kSwitch, 8, {}, {}}})), 8 + 8 * 100);
  EXPECT_EQ(system_price(wired({{kRing, 4, {}, {}}, {kSwitch, 2, {}, {}}})),
            8 + 2 * 2 * 100 + 2 + 2 * 100);
}

TEST(SystemPrice, OneChipHasNoNetwork) {
  MappingSystem system =
      wired({{kRing, 1, {}, {}}, {kFullyConnected, 1, {}, {}}, {kSwitch, 1, {}, {}}});
  EXPECT_EQ(system_price(system), 0);
  system.chip.price_usd = 7;
  system.memory_bandwidth = {3e9};
  EXPECT_EQ(system_price(system), 7 + 3);
  system.chip.power_w = 5;
  system.prices.memory_w = 2;
  EXPECT_EQ(system_power(system), 5 + 3 * 2);
}

TEST(SystemPower, LinksDifferByDimension) {
  MappingSystem system = wired({{kSwitch, 2, {}, {}}, {kSwitch, 3, {}, {}}, {kSwitch, 5, {}, {}}});
  system.prices.switch_w = 0;
  system.prices.link_w = {10, 1};  // the last stands for the third too
  EXPECT_EQ(system_power(system), 30 * 10 + 15 * 1 + 5 * 1);
  system.prices.link_w.clear();
  EXPECT_DOUBLE_EQ(system_power(system), (30 + 15 + 5) * 0.052);
}

}  // namespace
}  // namespace flopcast::mapping
