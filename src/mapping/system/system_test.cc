// Systems from text: what is taken from where, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/mapping.h"
#include "mapping/system/facts.h"
#include "support/temporary_folder.h"

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

MappingSystem made(const std::string& text, const SystemOptions& options = {}) {
  Result<MappingSystem> system = mapping_system(text, options, Catalog::builtin());
  if (system) return std::move(*system);
  ADD_FAILURE() << system.error().text();
  return {};
}

SystemOptions with_topology(std::string topology) {
  SystemOptions options;
  options.topology = std::move(topology);
  return options;
}

Basis basis_of(const MappingSystem& system, std::string_view key) {
  const Fact* fact = mapping::find_fact(system.facts, key);
  EXPECT_NE(fact, nullptr) << key;
  return fact == nullptr ? Basis::kAssumed : fact->basis;
}

TEST(MappingSystem, ChipsOnATopology) {
  const MappingSystem system = made("8 x sn10", with_topology("torus:4x2"));
  EXPECT_EQ(system.chips(), 8U);
  ASSERT_EQ(system.dimensions.size(), 2U);
  EXPECT_EQ(system.dimensions[0].kind, DimensionKind::kRing);
  EXPECT_EQ(system.dimensions[0].size, 4U);
  EXPECT_EQ(system.dimensions[1].size, 2U);
  EXPECT_EQ(system.dimensions[1].bandwidth.value, 50e9);
  EXPECT_EQ(basis_of(system, "link-bandwidth-1"), Basis::kAssumed);
  EXPECT_EQ(system.peak.value, 307.2e12);
  EXPECT_EQ(system.sram.value, 335544320);
  EXPECT_EQ(system.memory_bandwidth.value, 200e9);
  EXPECT_EQ(system.memory_capacity.value, 1.5e12);
  EXPECT_FALSE(system.kernel_by_kernel);
}

TEST(MappingSystem, KernelByKernelUnlessDataflow) {
  EXPECT_TRUE(made("8 x h100").kernel_by_kernel);
  EXPECT_TRUE(made("8 x tpu-v4", with_topology("ring:8")).kernel_by_kernel);
  SystemOptions options;
  options.memory = "ddr";
  EXPECT_FALSE(made("8 x wse-2", options).kernel_by_kernel);
}

TEST(MappingSystem, WithoutTopologyTheClusterSaysHow) {
  const MappingSystem nodes = made("4 x dgx-h100");
  ASSERT_EQ(nodes.dimensions.size(), 2U);
  EXPECT_EQ(nodes.dimensions[0].kind, DimensionKind::kSwitch);
  EXPECT_EQ(nodes.dimensions[0].size, 8U);
  EXPECT_EQ(nodes.dimensions[1].size, 4U);
  EXPECT_GT(nodes.dimensions[0].bandwidth, nodes.dimensions[1].bandwidth);
  EXPECT_GT(nodes.dimensions[1].latency.value, 0);
  // A node's eight ports of 50 GB/s, of which 96 % are reached, are shared by its eight chips.
  EXPECT_NEAR(nodes.dimensions[1].bandwidth.value, 48e9, 1);

  const MappingSystem pod = made("tpu-v4-pod");
  ASSERT_EQ(pod.dimensions.size(), 3U);
  EXPECT_EQ(pod.dimensions[2].kind, DimensionKind::kRing);
  EXPECT_EQ(pod.chips(), 4096U);

  const MappingSystem ring = made("8 x sn10");
  EXPECT_EQ(ring.dimensions[0].kind, DimensionKind::kRing);
  EXPECT_EQ(ring.dimensions[0].bandwidth.value, 25e9);
}

TEST(MappingSystem, ChipsThatNoNodeHoldsAreOnOneSwitch) {
  SystemOptions options;
  options.memory = "hbm";
  const MappingSystem system = made("16 x wse-2-dfmodel", options);
  ASSERT_EQ(system.dimensions.size(), 1U);
  EXPECT_EQ(system.dimensions[0].kind, DimensionKind::kSwitch);
  EXPECT_EQ(system.dimensions[0].size, 16U);
  EXPECT_EQ(system.dimensions[0].bandwidth.value, 50e9);
  EXPECT_EQ(basis_of(system, "topology"), Basis::kAssumed);
}

TEST(MappingSystem, OneChip) {
  const MappingSystem system = made("sn30");
  EXPECT_EQ(system.chips(), 1U);
  EXPECT_GT(system.dimensions[0].bandwidth.value, 0);
}

TEST(MappingSystem, AClusterLaidOutOtherwiseKeepsItsLinks) {
  const MappingSystem plain = made("4 x dgx-h100");
  const MappingSystem torus = made("4 x dgx-h100", with_topology("torus:8x4"));
  EXPECT_EQ(torus.dimensions[0].kind, DimensionKind::kRing);
  EXPECT_EQ(torus.dimensions[0].bandwidth, plain.dimensions[0].bandwidth);
  EXPECT_EQ(torus.dimensions[1].bandwidth, plain.dimensions[1].bandwidth);
  // A dimension that leaves the node has what leaves it.
  const MappingSystem two = made("4 x dgx-h100", with_topology("ring:16,switch:2"));
  EXPECT_EQ(two.dimensions[0].bandwidth, plain.dimensions[1].bandwidth);
}

TEST(MappingSystem, MemoryByNameOrBandwidth) {
  SystemOptions options;
  options.memory = "hbm";
  const MappingSystem hbm = made("8 x sn30-dfmodel", options);
  EXPECT_EQ(hbm.memory_bandwidth.value, 3072e9);
  EXPECT_EQ(hbm.memory_capacity.value, 103079215104);
  EXPECT_EQ(hbm.prices.memory_w, 0.05624);
  options.memory = "3d";
  EXPECT_EQ(made("8 x sn30-dfmodel", options).memory_capacity.value, 0);
  options.memory = "100GB/s";
  const MappingSystem slow = made("8 x sn10", options);
  EXPECT_EQ(slow.memory_bandwidth.value, 100e9);
  EXPECT_EQ(slow.memory_capacity.value, 1.5e12);
  EXPECT_EQ(slow.prices.memory_w, 0.16248);  // DDR is nearest
}

TEST(MappingSystem, LinksByNameOrBandwidthPerDimension) {
  SystemOptions options = with_topology("torus:8x64x2");
  options.link = "nvlink";
  MappingSystem system = made("1024 x sn10", options);
  EXPECT_EQ(system.dimensions[0].bandwidth.value, 450e9);
  EXPECT_EQ(system.dimensions[2].bandwidth.value, 50e9);
  EXPECT_EQ(system.prices.link_w, (std::vector<double>{0.0104, 0.052, 0.052}));
  options.link = "nvlink,nvlink";
  EXPECT_EQ(made("1024 x sn10", options).dimensions[2].bandwidth.value, 450e9);
  options.link = "150GB/s, 25GB/s";
  system = made("1024 x sn10", options);
  EXPECT_EQ(system.dimensions[0].bandwidth.value, 150e9);
  EXPECT_EQ(system.dimensions[1].bandwidth.value, 25e9);
  EXPECT_EQ(system.dimensions[2].bandwidth.value, 25e9);
}

// How far links go is a fact of theirs, whatever they are called.
TEST(MappingSystem, LinksThatReachTwoDimensionsLeaveTheThirdToPcie) {
  const flopcast::test::TemporaryFolder folder;
  flopcast::test::write_text(folder / "mine.toml",
                             "[interconnect.optical]\nbandwidth = \"600GB/s\"\nreach = 2\n"
                             "[interconnect.nvlink]\nbandwidth = \"450GB/s\"\n");
  const Result<Catalog> mine = Catalog::load({folder.path()});
  ASSERT_TRUE(mine) << mine.error().text();
  SystemOptions options = with_topology("torus:8x64x2");
  options.link = "optical";
  const Result<MappingSystem> two = mapping_system("1024 x sn10", options, *mine);
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->dimensions[1].bandwidth.value, 600e9);
  EXPECT_EQ(two->dimensions[2].bandwidth.value, 50e9);
  options.link = "nvlink";
  const Result<MappingSystem> all = mapping_system("1024 x sn10", options, *mine);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->dimensions[2].bandwidth.value, 450e9);
}

TEST(MappingSystem, EitherSixteenBitFormatWillDo) {
  SystemOptions options;
  options.memory = "ddr";
  EXPECT_EQ(made("wse-2", options).peak.value, 7500e12);
  options.precision = DataType::kFp8;
  const auto none = mapping_system("wse-2", options, Catalog::builtin());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("no rate for fp8"));
}

// Nothing unknown is free: an unpublished price comes from the fit, at the peak as it is changed to.
TEST(MappingSystem, UnknownPricesAreFitted) {
  MappingSystem system = made("8 x sn10");
  EXPECT_EQ(basis_of(system, "chip-price"), Basis::kFitted);
  EXPECT_NEAR(system.chip.price_usd, 0.05789 * 307.2 * 307.2 - 33.72 * 307.2 + 11380, 1e-6);
  EXPECT_NEAR(system.chip.power_w, 302.5e-6 * 307.2 * 307.2 + 0.4232 * 307.2 + 44.38, 1e-6);
  SystemOptions options;
  options.changes = {"tiles=2x"};
  EXPECT_NEAR(made("8 x sn10", options).chip.power_w,
              302.5e-6 * 614.4 * 614.4 + 0.4232 * 614.4 + 44.38, 1e-6);
  options.changes = {"tiles=2x", "chip-price=9000"};
  system = made("8 x sn10", options);
  EXPECT_EQ(system.chip.price_usd, 9000);
  EXPECT_EQ(basis_of(system, "chip-price"), Basis::kAssumed);
  EXPECT_EQ(basis_of(system, "chip-power"), Basis::kFitted);
  EXPECT_EQ(made("8 x h100").chip.price_usd, 33000);
}

struct Refused {
  std::string text;
  SystemOptions options;
  std::string what, hint;
};
class RefusedSystem : public testing::TestWithParam<Refused> {};

TEST_P(RefusedSystem, SaysWhatToWrite) {
  const Refused& refused = GetParam();
  const auto system = mapping_system(refused.text, refused.options, Catalog::builtin());
  ASSERT_FALSE(system) << refused.text;
  EXPECT_EQ(system.error().code, ErrorCode::kUsage);
  EXPECT_THAT(system.error().what, HasSubstr(refused.what));
  EXPECT_THAT(system.error().hint, HasSubstr(refused.hint));
}

SystemOptions options_of(std::string topology, std::string memory, std::string link,
                         std::vector<std::string> changes = {}) {
  return {std::move(topology), std::move(memory), std::move(link), std::move(changes)};
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedSystem,
    testing::Values(
        Refused{"8 x sn11", {}, "no node, chip or cluster is called 'sn11'", "'sn10'"},
        Refused{"", {}, "empty", ""},
        Refused{"8 x sn10", options_of("torus:4x3", "", ""), "has 12 chips, 8 are asked for",
                "multiply to 8"},
        Refused{"8 x sn10", options_of("taurus:4x2", "", ""), "no topology", "'torus'"},
        Refused{"8 x sn10", options_of("", "dddr", ""), "no memory technology", "'ddr'"},
        Refused{"8 x sn10", options_of("", "3us", ""), "expected a bandwidth, found a time", ""},
        Refused{"8 x sn10", options_of("", "", "nvlonk"), "no interconnect technology", "'nvlink'"},
        Refused{"8 x sn10", options_of("", "", "switch"), "no link", "pcie"},
        Refused{"8 x sn10", options_of("", "", "0GB/s"), "", "pcie"},
        Refused{"8 x sn10", options_of("ring:8", "", "pcie,pcie"), "2 links for 1 dimensions", ""},
        Refused{"8 x h100-dfmodel", {}, "comes without memory", "hbm"},
        Refused{"8 x b200", {}, "SRAM of b200-sxm is not known", "sram=64MB"},
        Refused{"8 x sn10", options_of("", "", "", {"sram"}), "expected NAME=VALUE", "sram="},
        Refused{"8 x sn10", options_of("", "", "", {"srm=1MB"}), "no 'srm'", "'sram'"}));

TEST(MappingSystem, SramCanBeGivenToAChipWithout) {
  SystemOptions options;
  options.changes = {"sram = 126MB"};
  EXPECT_EQ(made("8 x b200", options).sram.value, 126e6);
}

}  // namespace
}  // namespace flopcast::mapping
