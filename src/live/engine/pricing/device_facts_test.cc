#include "live/engine/pricing/device_facts.h"

#include <gtest/gtest.h>

namespace flopcast::live {
namespace {

DeviceFacts facts_of(const char* chip) { return device_facts(*Catalog::builtin().chip(chip)); }

TEST(LiveDeviceFacts, AreThoseThatProgramsSee) {
  const DeviceFacts card = facts_of("rtx-3090");
  EXPECT_STREQ(card.name, "NVIDIA GeForce RTX 3090");
  EXPECT_NEAR(static_cast<double>(card.memory_bytes) / (1 << 30), 23.70, 0.005);
  EXPECT_EQ(card.major * 10 + card.minor, 86u);
  EXPECT_EQ(card.cores, 82u);
  const DeviceFacts hopper = facts_of("h100");
  EXPECT_STREQ(hopper.name, "NVIDIA H100 80GB HBM3");
  EXPECT_NEAR(static_cast<double>(hopper.memory_bytes) / (1 << 30), 79.10, 0.005);
  EXPECT_EQ(hopper.major * 10 + hopper.minor, 90u);
  EXPECT_EQ(facts_of("b300-sxm").minor, 3u);
}

// What programs see of the memory is a share of what the machine's chip is told to have.
TEST(LiveDeviceFacts, AreThoseOfTheMachineThatIsDescribed) {
  const auto memory_of = [](const char* cluster) {
    return device_facts(Catalog::builtin().cluster(cluster)->chip).memory_bytes;
  };
  const std::uint64_t as_built = memory_of("dgx-h100");
  EXPECT_NEAR(static_cast<double>(memory_of("dgx-h100, chip.hbm_capacity 40GiB")),
              static_cast<double>(as_built) / 2, 4 << 20);
  EXPECT_LT(memory_of("dgx-h100, chip.visible_share 0.5"), as_built / 3 * 2);
  const DeviceFacts other =
      device_facts(Catalog::builtin().cluster("dgx-h100, chip.compute_capability 12.1")->chip);
  EXPECT_EQ(other.major * 10 + other.minor, 121u);
}

TEST(LiveDeviceFacts, ClocksAndCoresAreThoseOfThePublishedRates) {
  EXPECT_EQ(facts_of("h100").clock_khz, 1'980'000u);
  EXPECT_EQ(facts_of("h100").cores * facts_of("h100").lanes, 16896u);
  EXPECT_EQ(facts_of("a100").clock_khz, 1'410'000u);
  EXPECT_EQ(facts_of("a100").cores * facts_of("a100").lanes, 6912u);
  EXPECT_EQ(facts_of("v100").clock_khz, 1'530'000u);
  EXPECT_EQ(facts_of("h100").power_mw, 700'000u);
  EXPECT_EQ(facts_of("h100").pcie_generation, 5u);
}

TEST(LiveDeviceFacts, LinksAreThoseOfTheNode) {
  const auto links_of = [](const char* cluster) {
    const Catalog& catalog = Catalog::builtin();
    return device_facts(*catalog.cluster(cluster), catalog);
  };
  const DeviceFacts hopper = links_of("dgx-h100"), ampere = links_of("2 x dgx-a100");
  EXPECT_EQ(hopper.nvlinks, 18u);
  EXPECT_EQ(hopper.nvlink_version, 6u);
  EXPECT_EQ(hopper.nvlink_switch, 1u);
  EXPECT_EQ(hopper.nvlink_group, 8u);
  EXPECT_EQ(ampere.nvlinks, 12u);
  EXPECT_EQ(ampere.nvlink_version, 4u);
  EXPECT_EQ(links_of("h100").nvlinks, 0u);  // a chip alone
}

TEST(LiveDeviceFacts, EveryChipHasSomeMemory) {
  for (const Chip& chip : Catalog::builtin().chips())
    EXPECT_LE(static_cast<double>(device_facts(chip).memory_bytes), chip.hbm_capacity.value)
        << chip.name;
}

}  // namespace
}  // namespace flopcast::live
