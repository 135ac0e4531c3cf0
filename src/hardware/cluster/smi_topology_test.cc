// `nvidia-smi topo -m` as a node: switches from direct links, PCIe, network cards, chips named or not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hardware/cluster/network_readers.h"
#include "support/temporary_folder.h"

namespace flopcast::hardware {
namespace {

/// A matrix of so many GPUs joined by `link`, with as many cards, each beside its GPU.
std::string matrix(unsigned gpus, const std::string& link, unsigned cards) {
  std::string text = "\x1b[4m";
  for (unsigned i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  for (unsigned i = 0; i < cards; ++i) text += fmt::format("\tNIC{}", i);
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n";
  for (unsigned row = 0; row < gpus + cards; ++row) {
    const bool gpu = row < gpus;
    text += gpu ? fmt::format("GPU{}", row) : fmt::format("NIC{}", row - gpus);
    for (unsigned column = 0; column < gpus + cards; ++column) {
      const bool beside = row % gpus == column % gpus;
      const bool same_half = row % gpus < gpus / 2 == column % gpus < gpus / 2;
      text += row == column          ? "\t X "
              : gpu && column < gpus ? "\t" + link
              : beside               ? "\tPIX"
              : same_half            ? "\tNODE"
                                     : "\tSYS";
    }
    text += gpu ? "\t0-47,96-143\t0\t\tN/A\n" : "\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n";
}

Result<Cluster> read(const std::string& text, unsigned nodes = 1, const char* chip = "") {
  return read_smi_topology(text, "topo.txt", nodes, chip, Catalog::builtin());
}

TEST(SmiTopology, LinksToAllOthersThatNoChipHasGoToSwitches) {
  const auto made = read(matrix(8, "NV18", 8), 1, "h100");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 8U);
  EXPECT_EQ(made->chip.name, "h100-sxm");
  const Result<Link> link = Catalog::builtin().link("nvlink4");
  EXPECT_DOUBLE_EQ(made->levels[0].child_bandwidth().value,
                   18 * link->bandwidth.value * link->efficiency);
  EXPECT_EQ(made->levels[0].transport, Transport::kNvlink);
}

TEST(SmiTopology, TheChipTellsTheGeneration) {
  const auto four = read(matrix(4, "NV18", 0), 1, "h100"),
             five = read(matrix(4, "NV18", 0), 1, "b200");
  ASSERT_TRUE(four && five);
  EXPECT_GT(five->levels[0].child_bandwidth() / four->levels[0].child_bandwidth(), 1.9);
  const auto named = read("GPU 0: NVIDIA B200 (UUID: GPU-1)\n" + matrix(4, "NV18", 0));
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(named->chip.name, "b200-sxm");
  EXPECT_DOUBLE_EQ(named->levels[0].child_bandwidth().value,
                   five->levels[0].child_bandwidth().value);
}

TEST(SmiTopology, FewLinksAreDirect) {
  const auto made = read(matrix(4, "NV4", 0), 1, "a100");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->levels[0].fabric, FabricKind::kFullyConnected);
  const Result<Link> link = Catalog::builtin().link("nvlink3");
  EXPECT_DOUBLE_EQ(made->levels[0].child_bandwidth().value,
                   12 * link->bandwidth.value * link->efficiency);
}

TEST(SmiTopology, WithoutLinksThereIsPcie) {
  const auto made = read(matrix(4, "SYS", 0), 1, "l40s");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->levels[0].transport, Transport::kPcie);
}

TEST(SmiTopology, NodesAreCopiedOverTheirCards) {
  const auto made = read(matrix(8, "NV18", 8), 4, "h100");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 32U);
  ASSERT_EQ(made->levels.size(), 2U);
  EXPECT_EQ(made->levels[1].ports, 8U);
  EXPECT_NE(read(matrix(8, "NV18", 0), 2).error().what.find("no network port"), std::string::npos);
}

TEST(SmiTopology, AreReadAsFilesOfClusters) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("topo.txt", matrix(8, "NV18", 8)).string();
  const auto made = Catalog::builtin().cluster("2 x " + path + ", chip b200");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 16U);
  EXPECT_EQ(made->chip.name, "b200-sxm");
  const Result<Link> link = Catalog::builtin().link("nvlink5");
  EXPECT_DOUBLE_EQ(made->levels[0].child_bandwidth().value,
                   18 * link->bandwidth.value * link->efficiency);
}

TEST(SmiTopology, MistakesHaveTheirLine) {
  const auto where = [](std::string text) {
    const auto made = read(text);
    return made ? "read" : made.error().text();
  };
  std::string wrong = matrix(2, "NV18", 0);
  wrong.replace(wrong.find("NV18"), 4, "NVXX");
  EXPECT_NE(where(wrong).find("topo.txt:2"), std::string::npos) << where(wrong);
  std::string cut = matrix(4, "NV18", 0);
  cut.resize(cut.rfind("GPU3\t"));
  EXPECT_NE(where(cut).find("names 4 devices"), std::string::npos) << where(cut);
  std::string apart = matrix(2, "NV18", 0);
  apart.replace(apart.find("NV18"), 4, "NV12");
  EXPECT_NE(where(apart).find("two ways"), std::string::npos) << where(apart);
}

TEST(SmiTopology, OtherTextsAreNone) {
  EXPECT_TRUE(is_smi_topology(matrix(2, "PHB", 1)));
  EXPECT_FALSE(is_smi_topology("cluster = \"8 x dgx-h100\"\n"));
  EXPECT_FALSE(is_smi_topology("9 4 1 1 4 H100\n4 5\n"));
  EXPECT_FALSE(is_smi_topology(""));
}

}  // namespace
}  // namespace flopcast::hardware
