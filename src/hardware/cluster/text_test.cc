#include <fmt/format.h>
#include <gtest/gtest.h>

#include "flopcast/hardware.h"

namespace flopcast::hardware {
namespace {

Cluster cluster(const std::string& text) {
  const auto made = Catalog::builtin().cluster(text);
  EXPECT_TRUE(made) << text << ": " << (made ? "" : made.error().text());
  return made ? *made : Cluster{};
}

TEST(ClusterText, OneChipAndOneNode) {
  const Cluster chip = cluster("h100");
  EXPECT_EQ(chip.chips(), 1U);
  EXPECT_EQ(chip.levels.size(), 1U);
  const Cluster node = cluster("dgx-h100");
  EXPECT_EQ(node.chips(), 8U);
  ASSERT_EQ(node.levels.size(), 1U);
  EXPECT_EQ(node.levels[0].child_bandwidth().value, 450e9);  // 18 NVLinks of 25 GB/s
  EXPECT_TRUE(node.levels[0].in_network_reduction);
  EXPECT_EQ(cluster("1 x dgx-a100").levels.size(), 1U);
}

TEST(ClusterText, NodesOnTheirUsualFabric) {
  const Cluster made = cluster("64 x dgx-h100");
  EXPECT_EQ(made.name, "64 x dgx-h100");
  EXPECT_EQ(made.chips(), 512U);
  EXPECT_EQ(made.chips_per_node(), 8U);
  EXPECT_EQ(made.nodes(), 64U);
  ASSERT_EQ(made.levels.size(), 2U);
  EXPECT_EQ(made.levels[1].fabric, FabricKind::kRail);
  EXPECT_EQ(made.levels[1].ports, 8U);
  EXPECT_EQ(made.levels[1].port_bandwidth.value, 50e9);
  EXPECT_EQ(made.levels[1].shape, (std::vector<unsigned>{32, 2}));
}

TEST(ClusterText, OverridesOfEverything) {
  const Cluster made = cluster(
      "16 x dgx-h100, fat-tree NDR, oversubscription 2, nic.latency 3us, node.bandwidth=400GB/s, "
      "chip.hbm_bandwidth 3TB/s, fabric.efficiency 0.9, chip.matrix.bf16 900TFLOPS, ports 4");
  const Level& fabric = made.levels[1];
  EXPECT_EQ(fabric.fabric, FabricKind::kFatTree);
  EXPECT_EQ(fabric.oversubscription, 2);
  EXPECT_DOUBLE_EQ(fabric.latency.value, 3e-6);
  EXPECT_EQ(fabric.efficiency, 0.9);
  EXPECT_EQ(fabric.ports, 4U);
  EXPECT_EQ(made.levels[0].port_bandwidth.value, 400e9);
  EXPECT_EQ(made.chip.hbm_bandwidth.value, 3e12);
  EXPECT_EQ(made.chip.matrix_rate(DataType::kBf16).value, 900e12);
  bool told = false;
  for (const Fact& fact : made.facts)
    told |= fact.key == "fabric.latency" && fact.source == "given";
  EXPECT_TRUE(told);
}

TEST(ClusterText, NumbersAreChangedByFactorsToo) {
  const Cluster plain = cluster("8 x dgx-h100");
  const Cluster made = cluster(
      "8 x dgx-h100, node.bandwidth 2x, nic.latency=0.5x, chip.hbm_bandwidth 1.5x, "
      "chip.matrix.bf16 2x, fabric.efficiency 0.5x");
  EXPECT_EQ(made.levels[0].port_bandwidth.value, 2 * plain.levels[0].port_bandwidth.value);
  EXPECT_EQ(made.levels[1].latency.value, plain.levels[1].latency.value / 2);
  EXPECT_EQ(made.levels[1].efficiency, plain.levels[1].efficiency / 2);
  EXPECT_EQ(made.chip.hbm_bandwidth.value, 1.5 * plain.chip.hbm_bandwidth.value);
  EXPECT_EQ(made.chip.matrix_rate(DataType::kBf16).value,
            2 * plain.chip.matrix_rate(DataType::kBf16).value);
  ASSERT_NE(made.nominal, nullptr);
  for (const char* wrong : {"8 x dgx-h100, nic.bandwidth 1e9x", "8 x dgx-h100, efficiency 2x",
                            "8 x dgx-h100, nic.latency 0x", "8 x dgx-h100, bandwidth xx",
                            "h100, chip.tile_frequency 1e9x", "8 x dgx-h100, chip.matrix.fp4 2x"}) {
    const auto refused = Catalog::builtin().cluster(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_FALSE(refused.error().hint.empty()) << wrong;
  }
}

TEST(ClusterText, KeepsTheMachineThatNumbersWereOverriddenOf) {
  EXPECT_EQ(cluster("16 x dgx-h100, fat-tree HDR").nominal, nullptr);
  const Cluster made =
      cluster("16 x dgx-h100, fat-tree HDR, latency 3us, chip.hbm_bandwidth 3TB/s");
  ASSERT_NE(made.nominal, nullptr);
  EXPECT_EQ(made.nominal->levels[1].port_bandwidth.value, 25e9);  // another link is another machine
  EXPECT_EQ(made.nominal->levels[1].latency.value, 5e-6);
  EXPECT_EQ(made.nominal->chip.hbm_bandwidth.value, 3.35e12);
  EXPECT_EQ(&made.as_measured(), made.nominal.get());
  EXPECT_EQ(made.nominal->nominal, nullptr);
}

TEST(ClusterText, LinksBringWhatCarriesMessages) {
  const Cluster perlmutter = cluster("4 x perlmutter-node");
  EXPECT_EQ(perlmutter.levels[0].transport, Transport::kNvlink);
  EXPECT_EQ(perlmutter.levels[1].transport, Transport::kRdma);
  EXPECT_EQ(perlmutter.levels[1].attachment, Attachment::kHost);
  EXPECT_EQ(cluster("8 x a100, node.link pcie4").levels[0].transport, Transport::kPcie);
  EXPECT_EQ(cluster("4 x dgx-h100, fabric.transport sockets").levels[1].transport,
            Transport::kSockets);
  EXPECT_EQ(cluster("gh200").chip.host_link, "nvlink-c2c");
  EXPECT_EQ(cluster("v100").chip.host_bandwidth.value, 15.754e9);
  EXPECT_EQ(cluster("h100, chip.host_link pcie4").chip.host_bandwidth.value, 31.508e9);
  EXPECT_EQ(cluster("h100, chip.host_bandwidth 40GB/s").chip.host_bandwidth.value, 40e9);
}

TEST(ClusterText, ManyWaysToSayTheSame) {
  for (const char* text :
       {"8 nodes of dgx-h100, rail NDR", "8x dgx-h100, rail ndr", "8 dgx-h100", "8 x DGX_H100, NDR",
        "64 x h100", "64xh100", "64 chips of dgx-h100", "64 gpus of h100", "8 * hgx h100",
        "64 x NVIDIA H100 80GB HBM3", "8 x h100_dgx, rail-optimised 8x1 infiniband"}) {
    const Cluster made = cluster(text);
    ASSERT_EQ(made.levels.size(), 2U) << text;
    EXPECT_EQ(made.chips(), 64U) << text;
    EXPECT_EQ(made.levels[1].fabric, FabricKind::kRail) << text;
    EXPECT_EQ(made.levels[1].link, "ndr") << text;
    EXPECT_EQ(made.levels[1].shape, (std::vector<unsigned>{8, 1})) << text;
  }
}

TEST(ClusterText, PeoplesWordsForNodesOfChips) {
  // Whatever the order, the signs and the nouns: one machine.
  for (const char* text :
       {"64 nodes of 8 H100, 400G InfiniBand", "400G InfiniBand, 64 nodes of 8 H100",
        "64 x 8 H100, NDR", "64x8xH100, InfiniBand 400Gb/s", "8 H100 per node, 64 nodes, NDR",
        "64 nodes, 8 H100 per node, NDR InfiniBand",
        "64 servers with 8 NVIDIA H100 GPUs each, NDR400", "512 H100 GPUs, 400 Gb/s InfiniBand",
        "512 H100s, IB 400G", "H100 x 512, ndr", "64 DGX H100 systems, 8x400G InfiniBand",
        "64 nodes of 8 H100 SXM5 80GB, 400G"}) {
    const Cluster made = cluster(text);
    ASSERT_EQ(made.levels.size(), 2U) << text;
    EXPECT_EQ(made.chip.name, "h100-sxm") << text;
    EXPECT_EQ(made.nodes(), 64U) << text;
    EXPECT_EQ(made.chips_per_node(), 8U) << text;
    EXPECT_EQ(made.levels[1].link, "ndr") << text;
    EXPECT_EQ(made.levels[1].ports, 8U) << text;
    EXPECT_EQ(made.nominal, nullptr) << text;
  }
}

TEST(ClusterText, PeoplesWordsForLinks) {
  const auto link = [](const std::string& words) {
    return cluster("4 nodes of 8 H100, " + words).levels[1].link;
  };
  EXPECT_EQ(link("100G InfiniBand"), "edr");
  EXPECT_EQ(link("HDR200"), "hdr");
  EXPECT_EQ(link("InfiniBand HDR"), "hdr");
  EXPECT_EQ(link("800G InfiniBand network"), "xdr");
  EXPECT_EQ(link("100G Ethernet"), "roce-100");
  EXPECT_EQ(link("200GbE"), "roce-200");
  EXPECT_EQ(link("RoCEv2 400 Gbit/s"), "roce-400");
  EXPECT_EQ(link("0.8T Ethernet"), "roce-800");
  EXPECT_EQ(link("200G Slingshot"), "slingshot-11");
  EXPECT_EQ(link("fat tree 200G RoCE"), "roce-200");
  EXPECT_EQ(link("InfiniBand"), "ndr");  // what such nodes have
  const Cluster turned = cluster("16 nodes of 8 H100, 200G InfiniBand fat-tree");
  EXPECT_EQ(turned.levels[1].fabric, FabricKind::kFatTree);
  EXPECT_EQ(turned.levels[1].link, "hdr");
  EXPECT_EQ(cluster("4 nodes of 8 H100, 4 x 200G InfiniBand").levels[1].ports, 4U);
}

TEST(ClusterText, EveryChipOfTheCatalogueByItsEverydayName) {
  const auto chip = [](const std::string& name) { return cluster(name).chip.name; };
  EXPECT_EQ(chip("NVIDIA A100 40GB"), "a100-sxm-40g");
  EXPECT_EQ(chip("A100 PCIe 40 GB"), "a100-pcie-40g");
  EXPECT_EQ(chip("1 V100 16GB"), "v100-sxm2-16g");
  EXPECT_EQ(chip("AMD Instinct MI300X OAM"), "mi300x");
  EXPECT_EQ(chip("8 x Intel Gaudi 3"), "gaudi3");
  EXPECT_EQ(chip("GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(chip("16 Google TPU v5p chips"), "tpu-v5p");
  EXPECT_EQ(chip("2 nodes of 16 AWS Trainium 2"), "trainium2");
  // Nodes of as many chips as they usually hold, whatever they are.
  for (const std::string& node : Catalog::builtin().node_names()) {
    const Cluster one = cluster(node);
    const std::string words = fmt::format("3 nodes of {} {}", one.chips_per_node(), one.chip.name);
    const auto made = Catalog::builtin().cluster(words);
    const auto three = Catalog::builtin().cluster("3 x " + node);
    if (!three) continue;  // nobody says what joins such nodes
    if (!made && made.error().what.find("no bandwidth is known") != std::string::npos) continue;
    ASSERT_TRUE(made) << words << ": " << made.error().text();
    EXPECT_EQ(made->nodes(), 3U) << words;
    EXPECT_EQ(made->chips_per_node(), one.chips_per_node()) << words;
    EXPECT_EQ(made->chip.name, one.chip.name) << words;
  }
}

TEST(ClusterText, GrowsByItsNodesHoweverTheyAreSaid) {
  const Catalog& catalog = Catalog::builtin();
  const auto counted = catalog.counted("64 nodes of 8 H100, NDR");
  EXPECT_EQ(counted->count, 64U);
  EXPECT_EQ(cluster(counted->with_count(128)).nodes(), 128U);
  // What stands in front counts something else.
  EXPECT_EQ(catalog.counted("8 H100 per node, 64 nodes")->count, 0U);
}

TEST(ClusterText, CountsAreToldFromNames) {
  const Catalog& catalog = Catalog::builtin();
  for (const char* text : {"2 x dgx-h100, rail", "2 × dgx-h100, rail", "2 * dgx-h100, rail",
                           " 2x dgx-h100, rail", "2 X dgx-h100, rail", "2 nodes of dgx-h100, rail",
                           "2xdgx-h100, rail", "2 dgx-h100, rail"}) {
    const auto counted = catalog.counted(text);
    ASSERT_TRUE(counted) << text;
    EXPECT_EQ(counted->count, 2U) << text;
    EXPECT_FALSE(counted->chips) << text;
    EXPECT_EQ(counted->name, "dgx-h100, rail") << text;
    EXPECT_EQ(cluster(counted->with_count(4)).chips(), 32U) << text;
  }
  EXPECT_TRUE(catalog.counted("16 gpus of h100")->chips);
  EXPECT_EQ(catalog.counted("16 gpus of h100")->with_count(8), "8 gpus of h100");
  EXPECT_EQ(catalog.counted("eos")->count, 0U);
  EXPECT_EQ(catalog.counted("dgx-h100")->with_count(8), "8 x dgx-h100");
  EXPECT_EQ(catalog.counted("64")->count, 0U);
  EXPECT_FALSE(catalog.counted("0 x h100"));
  EXPECT_FALSE(catalog.counted("99999999999 x h100"));
}

TEST(ClusterText, PartsOfANode) {
  EXPECT_EQ(cluster("4 x h100").chips_per_node(), 4U);
  EXPECT_EQ(cluster("2 x gb200").levels[0].size, 2U);
  // Half of a fully connected platform keeps the links between its chips.
  const Level half = cluster("4 x mi300x").levels[0];
  EXPECT_EQ(half.ports, 3U);
  EXPECT_EQ(half.neighbour_bandwidth().value, 64e9);
  // One pair of cards with a bridge.
  const Cluster pair = cluster("2 x a40");
  EXPECT_EQ(pair.levels.size(), 1U);
  EXPECT_EQ(pair.levels[0].child_bandwidth().value, 56.25e9);
}

TEST(ClusterText, PartOfEveryNode) {
  const Cluster racks = cluster("4 x gb200-nvl72, node.size 64");
  EXPECT_EQ(racks.chips(), 256U);
  EXPECT_EQ(racks.levels[1].ports, 64U);
  const Cluster half = cluster("2 x mi300x-8, node.size 4");
  EXPECT_EQ(half.levels[0].neighbour_bandwidth().value, 64e9);
  EXPECT_EQ(half.levels[0].ports, 3U);
}

TEST(ClusterText, LevelsOfOnesOwn) {
  const Cluster torus = cluster("tpu-v4, torus 4x4x4 ici-v4");
  EXPECT_EQ(torus.chips(), 64U);
  EXPECT_EQ(torus.levels[0].ports, 6U);
  EXPECT_EQ(torus.levels[0].neighbour_bandwidth().value, 50e9);
  const Cluster mixed = cluster("h100, switch 8 nvlink4, ring 4 ndr, fully-connected 2 hdr");
  EXPECT_EQ(mixed.chips(), 64U);
  ASSERT_EQ(mixed.levels.size(), 3U);
  EXPECT_EQ(mixed.levels[1].ports, 16U);  // every chip two ring neighbours
  EXPECT_EQ(mixed.levels[2].ports, 32U);  // every chip one twin
  const Cluster outer = cluster("8 x dgx-h100, rail NDR, switch 2, bandwidth 10GB/s");
  EXPECT_EQ(outer.chips(), 128U);
  EXPECT_EQ(outer.levels[2].port_bandwidth.value, 10e9);
}

TEST(ClusterText, SlicesOfAPod) {
  const auto shape = [](const std::string& text) { return cluster(text).levels[0].shape; };
  using Sides = std::vector<unsigned>;
  // The slices Google's documentation lists.
  EXPECT_EQ(shape("8 x tpu-v6e"), (Sides{2, 4}));
  EXPECT_EQ(shape("128 x tpu-v5e"), (Sides{8, 16}));
  EXPECT_EQ(shape("64 x tpu-v4"), (Sides{4, 4, 4}));
  EXPECT_EQ(shape("128 x tpu-v5p"), (Sides{4, 4, 8}));
  EXPECT_EQ(shape("256 x tpu-v7"), (Sides{4, 8, 8}));
  const Cluster pods = cluster("512 x tpu-v5e");
  ASSERT_EQ(pods.levels.size(), 2U);
  EXPECT_EQ(pods.levels[0].efficiency, 1);
  EXPECT_EQ(pods.levels[1].size, 2U);
  // Chips at the edge of an open slice have one link of two: on both sides, on one, on none.
  EXPECT_EQ(cluster("64 x tpu-v6e").levels[0].efficiency, 0.5);
  EXPECT_EQ(cluster("128 x tpu-v6e").levels[0].efficiency, 0.75);
  EXPECT_EQ(cluster("64 x tpu-v5p").levels[0].efficiency, 1);
  // Any slice holds its chips and lies within its pod.
  for (unsigned chips = 2; chips <= 256; ++chips) {
    const auto made = Catalog::builtin().cluster(fmt::format("{} x tpu-v5e", chips));
    if (!made) continue;
    const Sides sides = made->levels[0].shape;
    EXPECT_EQ(sides[0] * sides[1], chips);
    EXPECT_LE(sides[0], sides[1]);
    EXPECT_LE(sides[1], 16U);
  }
  EXPECT_FALSE(Catalog::builtin().cluster("17 x tpu-v5e"));
}

TEST(ClusterText, WholeMachines) {
  const Cluster perlmutter = cluster("perlmutter");
  EXPECT_EQ(perlmutter.chips(), 6144U);
  EXPECT_EQ(perlmutter.chips_per_node(), 4U);
  EXPECT_EQ(perlmutter.levels[0].neighbour_bandwidth().value, 100e9);
  EXPECT_EQ(perlmutter.name, "perlmutter");
  EXPECT_EQ(cluster("eos, fat-tree HDR").levels[1].link, "hdr");
  EXPECT_EQ(cluster("frontier").levels.size(), 3U);
  EXPECT_EQ(cluster("frontier").chips_per_node(), 8U);
  EXPECT_EQ(cluster("a100_pairwise_nvlink").chips(), 4U);
  EXPECT_EQ(cluster("a100_dgx").chip.name, "a100-sxm-80g");
}

TEST(ClusterText, UnevenNumbersLeaveTheLastLeafPartEmpty) {
  EXPECT_EQ(cluster("37 x dgx-h100").levels[1].shape, (std::vector<unsigned>{19, 2}));
  EXPECT_EQ(cluster("33 x dgx-h100").levels[1].shape, (std::vector<unsigned>{11, 3}));
  EXPECT_EQ(cluster("130 x perlmutter-node").levels[1].shape, (std::vector<unsigned>{4, 32, 2}));
}

struct Mistake {
  std::string text;
  unsigned column;  ///< 0: the whole line
  std::string what, hint;
};
class ClusterMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ClusterMistake, IsRefusedWithPlaceAndFix) {
  const Mistake& mistake = GetParam();
  const auto made = Catalog::builtin().cluster(mistake.text);
  ASSERT_FALSE(made) << mistake.text;
  const Diagnostic& error = made.error();
  EXPECT_NE(error.what.find(mistake.what), std::string::npos) << error.text();
  EXPECT_NE(error.hint.find(mistake.hint), std::string::npos) << error.text();
  EXPECT_FALSE(error.hint.empty()) << error.text();
  if (mistake.column > 0) {
    const std::string column = "column " + std::to_string(mistake.column);
    EXPECT_TRUE(error.where.ends_with(column)) << error.text();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ClusterMistake,
    testing::Values(
        Mistake{"8 x dgx-h101", 5, "is called 'dgx-h101'", "'dgx-h100'"},
        Mistake{"8 x dgx-h100, NDRR", 15, "'NDRR' is no fabric", "'ndr'"},
        Mistake{"8 x dgx-h100, latencu 3us", 15, "is no fabric, link or setting", "'latency'"},
        Mistake{"8 x dgx-h100, nic.latencu 3us", 15, "a level has no 'latencu'", "'latency'"},
        Mistake{"8 x dgx-h100, nik.latency 3us", 15, "no level is called 'nik'", "node, fabric"},
        Mistake{"8 x dgx-h100, nic.latency 3GB", 15, "expected a time, found a size", "2.5us"},
        Mistake{"8 x dgx-h100, bandwidth 3us", 15, "expected a bandwidth, found a time", "50GB/s"},
        Mistake{"8 x dgx-h100, bandwidth -3GB/s", 15, "negative", "minus"},
        Mistake{"8 x dgx-h100, bandwidth 0", 15, "at least 1 MB/s", "50GB/s"},
        Mistake{"8 x dgx-h100, bandwidth 400", 15, "at least 1 MB/s", "without a unit is in B/s"},
        Mistake{"8 x dgx-h100, bandwidth 1e7GB/s", 15, "at most 1 PB/s", "check the unit"},
        Mistake{"8 x dgx-h100, latency 1000s", 15, "at most 10 s", "check the unit"},
        Mistake{"8 x dgx-h100, chip.hbm_bandwidth 3350", 15, "at least 1 MB/s", "in B/s"},
        Mistake{"8 x dgx-h100, chip.hbm_capacity 0GB", 15, "at least 1 MB", "check the unit"},
        Mistake{"8 x dgx-h100, chip.hbm_capacity 80", 15, "at least 1 MB", "in B"},
        Mistake{"8 x dgx-h100, chip.matrix.bf16 989", 15, "at least 1 GFLOP/s", "in FLOP/s"},
        Mistake{"8 x dgx-h100, chip.power_w 1e30", 15, "at most 1000000 W", "is in W"},
        Mistake{"8 x dgx-h100, transport wire", 15, "no transport is called 'wire'", "rdma"},
        Mistake{"8 x dgx-h100, attachment wall", 15, "hang at no 'wall'", "chip or host"},
        Mistake{"8 x dgx-h100, chip.host_link pcie9", 0, "no link is called 'pcie9'", "'pcie"},
        Mistake{"8 x dgx-h100, efficiency 1.2", 15, "at most 1", "check the number"},
        Mistake{"8 x dgx-h100, oversubscription 0.5", 15, "at least 1", "check the number"},
        Mistake{"8 x dgx-h100, latency", 15, "'latency' has no value", "latency VALUE"},
        Mistake{"8 x dgx-h100, rail 4x3", 0, "holds 12, but 8 are to be joined", "product is 8"},
        Mistake{"8 x dgx-h100, rail 2x2x2", 0, "at most 2 dimension", "fewer"},
        Mistake{"8 x dgx-h100, rail 0x8", 15, "expected sizes", "4x4x4"},
        Mistake{"8 x dgx-h100, dragonfly 2x4", 0, "three sizes", "4x8x16"},
        Mistake{"8 x dgx-h100, torus", 0, "shape of the torus is missing", "torus 4x4x4"},
        Mistake{"8 x dgx-h100, chip h1000", 15, "no chip is called 'h1000'", "'h100'"},
        Mistake{"8 x dgx-h100, chip.hbm_bandwith 3TB/s", 15, "a chip has no 'hbm_bandwith'",
                "'hbm_bandwidth'"},
        Mistake{"12 x h100", 6, "12 chips do not fill nodes of 8", "8 or 16"},
        Mistake{"256 x gb200", 7, "256 chips do not fill nodes of 72",
                "216 or 288 chips, or part of each node: '4 x gb200-nvl72, node.size 64'"},
        Mistake{"12 gpus of dgx-h100", 12, "do not fill nodes of 8", "multiple of 8"},
        Mistake{"4 x mi210", 5, "how mi210 chips are joined is not known", "switch 8 LINK"},
        Mistake{"h100, ring", 7, "how many are joined is not said", "ring 4"},
        Mistake{"h100, ring 4", 0, "no bandwidth is known", "rail NDR"},
        Mistake{"h100, ring 4000000000 ndr", 7, "expected sizes", "4x4x4"},
        Mistake{"h100, ring 100000 ndr, ring 100000 ndr", 0, "more than 2^24 chips", "sizes"},
        Mistake{"4 x perlmutter", 5, "'perlmutter' is a whole cluster", "perlmutter-node"},
        Mistake{"64 nodes of 8 H101", 13, "is called 'H101'", "'h100'"},
        Mistake{"4 nodes of 8 H100 96GB", 12, "is called 'H100 96GB'", "names them all"},
        Mistake{"64 nodes of 16 H100", 1, "no node of 16 h100-sxm is known", "8 (dgx-h100)"},
        Mistake{"4 nodes of 8 mi210", 1, "joined in a node is not known", "switch 8"},
        Mistake{"8 nodes of 8 dgx-h100", 1, "are nodes", "'8 x dgx-h100'"},
        Mistake{"8 x dgx-h100, 300G InfiniBand", 15, "no InfiniBand of 300G is known", "'ndr'"},
        Mistake{"8 x dgx-h100, 100G", 15, "100G of what is not said", "'roce-100'"},
        Mistake{"8 x dgx-h100, Ethernet", 15, "Ethernet of what rate is not said", "'roce-400'"},
        Mistake{"8 x dgx-h100, NDR200", 15, "'NDR200' is no fabric", "'hdr200'"},
        Mistake{"8 x dgx-h100, 400G Infinband", 15, "is no fabric, link or setting", ""},
        Mistake{"dgx-h100, 400G InfiniBand", 11, "joins nodes, and there is one", "2 x dgx-h100"},
        Mistake{"", 1, "the text is empty", "8 x dgx-h100"},
        Mistake{" , ", 1, "the text is empty", "8"},
        Mistake{"8 x", 1, "name of a node, chip or cluster is missing", "8 x dgx-h100"},
        Mistake{"0 x h100", 1, "expected how many, found '0'", "from 1"},
        Mistake{"99999999999 x h100", 1, "expected how many", "from 1"},
        Mistake{"no/such.toml", 0, "cannot be read", "check the path"}));

}  // namespace
}  // namespace flopcast::hardware
