#include "hardware/cluster/network_readers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace flopcast::hardware {
namespace {

TEST(AstraNetwork, DimensionsAreLevelsAndAGigabyteIsTwoToTheThirty) {
  const auto made = read_astra_network(
      "# two dimensions\n"
      "topology: [ Switch, Ring ]  # Ring, Switch, FullyConnected\n"
      "npus_count: [ 8, 4 ]\n"
      "bandwidth:\n  - 400\n  - 50.0\n"
      "latency: [ 936.25, 1000 ]\n",
      "net.yml");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 32U);
  EXPECT_EQ(made->chips_per_node(), 8U);
  EXPECT_EQ(made->levels[0].port_bandwidth.value, 400.0 * 0x1p30);
  EXPECT_DOUBLE_EQ(made->levels[0].latency.value, 2 * 936.25e-9);  // a switch is two links
  EXPECT_EQ(made->levels[1].fabric, FabricKind::kRing);
  EXPECT_EQ(made->levels[1].neighbour_bandwidth().value, 8 * 50.0 * 0x1p30);  // of eight chips
  EXPECT_DOUBLE_EQ(made->levels[1].latency.value, 1e-6);
}

struct Bad {
  std::string text, where, what;
};
class BadAstraNetwork : public testing::TestWithParam<Bad> {};

TEST_P(BadAstraNetwork, IsRefusedWithItsLine) {
  const auto made = read_astra_network(GetParam().text, "net.yml");
  ASSERT_FALSE(made) << made->levels[0].port_bandwidth.value;
  EXPECT_EQ(made.error().where, GetParam().where) << made.error().text();
  EXPECT_NE(made.error().what.find(GetParam().what), std::string::npos) << made.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAstraNetwork,
    testing::Values(Bad{"topology: [Ring]\nnpus: [4]\n", "net.yml:2", "no key of a network file"},
                    Bad{"topology: [Wheel]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n",
                        "net.yml:1", "no topology is called 'Wheel'"},
                    Bad{"topology: [Ring]\nnpus_count: [4]\nbandwidth: [-1]\nlatency: [1]\n",
                        "net.yml:3", "negative"},
                    Bad{"topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n",
                        "net.yml", "npus_count has 2 entries, topology has 1"},
                    Bad{"topology: [Ring]\nbandwidth: [1]\nlatency: [1]\n", "net.yml",
                        "npus_count has 0 entries"},
                    Bad{"topology: [Ring]\nnpus_count: [4]\nbandwidth: [50GB/s]\nlatency: [1]\n",
                        "net.yml:3", "expected a plain number, found a bandwidth"},
                    Bad{"topology: [Ring]\nnpus_count: [1]\nbandwidth: [1e300]\nlatency: [1]\n",
                        "net.yml:3",
                        "bandwidth: expected a bandwidth of at most 1 PB/s, found '1e300'"},
                    Bad{"topology: [Ring]\nnpus_count: [1]\nbandwidth: [1e305]\nlatency: [1]\n",
                        "net.yml:3", "found '1e305'"},
                    Bad{"topology: [Ring]\nnpus_count: [1]\nbandwidth: [0]\nlatency: [1]\n",
                        "net.yml:3",
                        "bandwidth: expected a bandwidth of at least 1 MB/s, found '0'"},
                    Bad{"topology: [Ring]\nnpus_count: [4]\nbandwidth: [inf]\nlatency: [1]\n",
                        "net.yml:3", "bandwidth: expected a plain number, found 'inf'"},
                    Bad{"topology: [Ring]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [nan]\n",
                        "net.yml:4", "latency: expected a plain number, found 'nan'"},
                    Bad{"topology: [Switch]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [6e9]\n",
                        "net.yml:4", "latency: expected a time of at most 10 s, found '6e9'"},
                    Bad{"topology: [Ring]\nnpus_count: [1]\nbandwidth: [1]\nlatency: [1e308]\n",
                        "net.yml:4", "found '1e308'"},
                    Bad{"topology: [Ring, Ring]\nnpus_count: [4096, 8192]\nbandwidth: [1, 1]\n"
                        "latency: [1, 1]\n",
                        "net.yml:2", "more than 2^24 chips"},
                    Bad{"", "net.yml", "topology has 0"},
                    Bad{"- 3\n", "net.yml:1", "a list item without a key"},
                    Bad{"topology: [Ring]\ntopology: [Ring]\n", "net.yml:2", "twice"}));

TEST(AstraNetwork, WhatIsNoNumberOfItsUnitIsToldTheUnit) {
  const auto hint = [](const std::string& bandwidth, const std::string& latency) {
    const auto made = read_astra_network(
        fmt::format("topology: Ring\nnpus_count: 1\nbandwidth: {}\nlatency: {}\n", bandwidth,
                    latency),
        "net.yml");
    return made ? std::string("accepted") : made.error().hint;
  };
  for (const char* bandwidth : {"inf", "-1", "50GB/s", "1e305", "0"}) {
    EXPECT_EQ(hint(bandwidth, "500"), "its unit is GB/s of 2^30 bytes: write it like 50");
  }
  for (const char* latency : {"nan", "-1", "1us", "1e308"}) {
    EXPECT_NE(hint("50", latency).find("its unit is ns"), std::string::npos) << latency;
  }
  EXPECT_EQ(hint("50", "500"), "accepted");
}

/// Two servers of two GPUs, rails and one spine, as SimAI's generator lays them out.
std::string simai_text() {
  return "10 2 2 4 12 A100\n4 5 6 7 8 9 \n"
         "0 4 2400Gbps 0.000025ms 0\n1 4 2400Gbps 0.000025ms 0\n"
         "2 5 2400Gbps 0.000025ms 0\n3 5 2400Gbps 0.000025ms 0\n"
         "0 6 100Gbps 0.0005ms 0\n1 7 100Gbps 0.0005ms 0\n"
         "2 6 100Gbps 0.0005ms 0\n3 7 100Gbps 0.0005ms 0\n"
         "6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n"
         "6 9 400Gbps 0.0005ms 0\n7 9 400Gbps 0.0005ms 0\n";
}

TEST(SimaiTopology, GraphAndLevels) {
  const auto made = read_simai_topology(simai_text(), "topo", Catalog::builtin());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chip.name, "a100-sxm-80g");
  EXPECT_EQ(made->chips(), 4U);
  EXPECT_EQ(made->chips_per_node(), 2U);
  EXPECT_EQ(made->levels[0].port_bandwidth.value, 300e9);
  EXPECT_EQ(made->levels[1].fabric, FabricKind::kRail);
  EXPECT_EQ(made->levels[1].port_bandwidth.value, 12.5e9);
  EXPECT_DOUBLE_EQ(made->levels[1].latency.value, 1e-6);
  ASSERT_TRUE(made->graph);
  EXPECT_EQ(made->graph->vertices.size(), 10U);
  EXPECT_EQ(made->graph->edges.size(), 24U);
  EXPECT_EQ(made->graph->vertices[3].name, "node1.chip1");
  EXPECT_EQ(made->graph->vertices[4].name, "nvswitch0");
}

TEST(SimaiTopology, MistakesHaveTheirLine) {
  const auto refused = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
    const auto made = read_simai_topology(text, "topo", Catalog::builtin());
    return made ? std::string("accepted") : made.error().where + " " + made.error().what;
  };
  EXPECT_EQ(refused(simai_text(), "12 A100", "13 A100"),
            "topo:14 the first line announces 13 links, there are 12");
  EXPECT_EQ(refused(simai_text(), "0 4 2400Gbps", "0 4 2400us"),
            "topo:3 expected a bandwidth, found a time: '2400us'");
  EXPECT_EQ(refused(simai_text(), "3 7 100Gbps", "3 70 100Gbps"),
            "topo:10 a link from '3' to '70'");
  EXPECT_EQ(refused(simai_text(), "4 5 6 7 8 9", "4 5 6 7 8"),
            "topo:2 5 switches are listed, the first line has 6");
  EXPECT_EQ(refused(simai_text(), "10 2 2 4", "10 3 2 4"),
            "topo:1 4 GPUs do not fill servers of 3");
  // Rank 3 loses both of its links.
  std::string lost = simai_text();
  lost.replace(lost.find("3 5 2400"), 1, "2");
  lost.replace(lost.find("3 7 100"), 1, "2");
  EXPECT_EQ(refused(lost, "", ""),
            "topo rank 3 (node1.chip1) is disconnected: rank 0 cannot reach it");
  EXPECT_NE(refused("hello\n", "", "").find("expected a SimAI topology"), std::string::npos);
  EXPECT_NE(refused("4000000000 8 0 0 0 A100\n\n", "", "").find("expected a SimAI"),
            std::string::npos);
}

/// Two GPUs with `links` NVLinks each to `target`, each beside a 200 Gb/s NIC under its own CPU.
std::string node_xml(const std::string& target0, const std::string& target1) {
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 2; ++i) {
    text += fmt::format(
        "<cpu numaid=\"{0}\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n"
        "<pci busid=\"0000:{0}1:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\">\n"
        "<pci busid=\"0000:{0}2:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\">\n"
        "<gpu dev=\"{0}\" sm=\"80\" rank=\"{0}\" gdr=\"1\"><nvlink target=\"{1}\" count=\"12\" "
        "tclass=\"0x068000\"/></gpu>\n</pci>\n"
        "<pci busid=\"0000:{0}3:00.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\">\n"
        "<nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"200000\" port=\"1\" "
        "latency=\"0.0\"/></nic>\n"
        "</pci></pci></cpu>\n",
        i, i == 0 ? target0 : target1);
  }
  return text + "</system>\n";
}

TEST(NcclTopology, NvswitchNodeCopiedOverRails) {
  const std::string text = node_xml("0000:c4:00.0", "0000:c4:00.0");
  const auto made = read_nccl_topology(text, "node.xml", 4, Catalog::builtin());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 8U);
  EXPECT_EQ(made->chips_per_node(), 2U);
  EXPECT_EQ(made->levels[0].fabric, FabricKind::kSwitch);
  EXPECT_DOUBLE_EQ(made->levels[0].port_bandwidth.value, 12 * 20e9);  // SM80: 20 of 25 GB/s
  EXPECT_EQ(made->levels[1].ports, 2U);
  EXPECT_DOUBLE_EQ(made->levels[1].port_bandwidth.value, 0.96 * 25e9);
  // Per node: 2 CPUs, 2 bridges, 2 GPUs, 2 NICs, 1 NVSwitch; then two rails and a spine.
  EXPECT_EQ(made->graph->vertices.size(), 4U * 9 + 3);
}

TEST(NcclTopology, DirectNvlinksAreJoinedOnce) {
  const auto made = read_nccl_topology(node_xml("0000:12:00.0", "0000:02:00.0"), "node.xml", 1,
                                       Catalog::builtin());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->levels[0].fabric, FabricKind::kFullyConnected);
  std::size_t between_chips = 0;
  for (const FabricGraph::Edge& edge : made->graph->edges) {
    const auto& vertices = made->graph->vertices;
    if (vertices[edge.from].chip < 0 || vertices[edge.to].chip < 0) continue;
    EXPECT_DOUBLE_EQ(edge.bandwidth.value, 12 * 20e9);
    ++between_chips;
  }
  EXPECT_EQ(between_chips, 2U);  // one each way
}

/// A ring of `gcns` AMD chips: `inner` XGMI links within a pair, `outer` to the next pair's chip.
std::string xgmi_ring(const char* gcn, int chips, int inner, int outer) {
  std::string text = "<system version=\"2\"><cpu numaid=\"0\" vendor=\"AuthenticAMD\">\n";
  for (int i = 0; i < chips; ++i) {
    const int mate = i ^ 1;
    const int next = (i % 2 == 0 ? i + chips - 1 : i + 1) % chips;
    text += fmt::format(
        "<pci busid=\"0000:{0:02x}:00.0\" class=\"0x038000\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\"><gpu dev=\"{0}\" sm=\"104\" gcn=\"{1}\" rank=\"{0}\">\n"
        "<xgmi target=\"0000:{2:02x}:00.0\" count=\"{3}\" tclass=\"0x038000\"/>\n"
        "<xgmi target=\"0000:{4:02x}:00.0\" count=\"{5}\" tclass=\"0x038000\"/></gpu></pci>\n",
        i, gcn, mate, inner, next, outer);
  }
  return text + "</cpu></system>\n";
}

// As in ROCm/rccl tools/topo_expl/models: links of chips by XGMI, "sm" counting compute units.
TEST(NcclTopology, XgmiJoinsAmdChips) {
  for (const auto& [gcn, chip, rate] :
       {std::tuple{"910", "mi250x-gcd", 36e9}, std::tuple{"gfx90a", "mi250x-gcd", 36e9},
        std::tuple{"gfx942", "mi300x", 48e9}, std::tuple{"908", "sm_104", 24e9}}) {
    const auto made =
        read_nccl_topology(xgmi_ring(gcn, 8, 4, 3), "node.xml", 1, Catalog::builtin());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->chip.name, chip);
    EXPECT_EQ(made->levels[0].fabric, FabricKind::kFullyConnected);
    EXPECT_NEAR(made->levels[0].child_bandwidth().value, 7 * rate, 0.1e9) << gcn;
  }
}

/// Two sockets, each with a switch, two GPUs and a NIC behind it, as clouds write for NCCL_TOPO_FILE.
std::string cloud_xml(const char* speed, const char* gpu) {
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 2; ++i) {
    text += fmt::format(
        "<cpu numaid=\"{0}\" arch=\"x86_64\" vendor=\"GenuineIntel\">\n"
        "<pci busid=\"ffff:ff:0{0}.0\" class=\"0x060400\" link_speed=\"{1}\" link_width=\"16\">\n"
        "<pci busid=\"000{0}:00:00.0\" class=\"0x030200\"{2} link_speed=\"{1}\" "
        "link_width=\"16\"/>\n"
        "<pci busid=\"000{0}:01:00.0\" class=\"0x030200\"{2} link_speed=\"{1}\" "
        "link_width=\"16\"/>\n"
        "<pci busid=\"010{0}:00:00.0\" class=\"0x020700\" link_speed=\"{1}\" link_width=\"16\"/>\n"
        "</pci></cpu>\n",
        i, speed, gpu);
  }
  return text + "</system>\n";
}

const Fact& fact_of(const Cluster& cluster, std::string_view key) {
  const auto found = std::find_if(cluster.facts.begin(), cluster.facts.end(),
                                  [&](const Fact& fact) { return fact.key == key; });
  EXPECT_NE(found, cluster.facts.end()) << key;
  return *found;
}

TEST(NcclTopology, GpusAndPortsByPciClass) {
  for (const auto& [speed, port] : {std::pair{"8 GT/s", 12.5e9}, std::pair{"16 GT/s", 25e9},
                                    std::pair{"32.0 GT/s PCIe", 50e9}}) {
    const auto made = read_nccl_topology(cloud_xml(speed, ""), "node.xml", 2, Catalog::builtin());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->chips(), 8U);
    EXPECT_EQ(made->levels[1].ports, 2U);
    EXPECT_NEAR(made->levels[1].port_bandwidth.value, 0.96 * port, 0.01e9) << speed;
    // No word of NVLink and of the chip: what is left is PCIe, and the facts say so.
    EXPECT_EQ(fact_of(*made, "node.bandwidth").basis, Basis::kAssumed);
    EXPECT_NE(fact_of(*made, "node.bandwidth").source.find("neither links"), std::string::npos);
  }
}

TEST(NcclTopology, ChipsOfPciDevicesHaveTheLinksOfTheirNode) {
  const auto made = read_nccl_topology(cloud_xml("8 GT/s", " vendor=\"0x10de\" device=\"0x20b0\""),
                                       "node.xml", 1, Catalog::builtin());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chip.name, "a100-sxm-40g");
  const auto usual = Catalog::builtin().cluster("4 x a100-sxm-40g");
  ASSERT_TRUE(usual) << usual.error().text();
  const Level& level = usual->levels[0];
  EXPECT_DOUBLE_EQ(made->levels[0].child_bandwidth().value,
                   level.child_bandwidth().value * level.efficiency);
  EXPECT_NE(fact_of(*made, "node.bandwidth").source.find("catalogue"), std::string::npos);
}

// A device that its dump does not call a GPU is none of the job's.
TEST(NcclTopology, DevicesBesideGpusThatAreNamedDoNotCount) {
  std::string text = node_xml("x", "x");
  text.insert(text.find("</cpu>"),
              "<pci busid=\"0000:99:00.0\" class=\"0x030200\"/>\n"
              "<pci busid=\"0000:98:00.0\" class=\"0x020700\"/>\n");
  const auto made = read_nccl_topology(text, "node.xml", 2, Catalog::builtin());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips_per_node(), 2U);
  EXPECT_EQ(made->levels[1].ports, 2U);
}

TEST(NcclTopology, MistakesHaveTheirLine) {
  const auto what = [](const std::string& text, unsigned nodes) {
    const auto made = read_nccl_topology(text, "n.xml", nodes, Catalog::builtin());
    return made ? std::string("accepted") : made.error().where + " " + made.error().what;
  };
  EXPECT_NE(what("<system>\n<cpu>\n</system>", 1).find("n.xml:3 "), std::string::npos);
  EXPECT_NE(what("<graph/>", 1).find("expected <system>"), std::string::npos);
  EXPECT_NE(what("<system><cpu/></system>", 1).find("there is no <gpu>"), std::string::npos);
  std::string slow = node_xml("x", "x");
  slow.replace(slow.find("speed=\"200000\""), 14, "speed=\"-1\"");
  EXPECT_NE(what(slow, 1).find("n.xml:8 a network port without a speed"), std::string::npos)
      << what(slow, 1);
  std::string lonely = node_xml("x", "x");
  for (std::size_t at; (at = lonely.find("<nic>")) != std::string::npos;) {
    lonely.erase(at, lonely.find("</nic>") + 6 - at);
  }
  EXPECT_NE(what(lonely, 2).find("nodes cannot be joined"), std::string::npos);
}

TEST(ClusterFile, OverridesOfALineByLevel) {
  const test::TemporaryFolder folder;
  test::write_text(
      folder / "c.toml",
      "cluster = \"64 x dgx-h100, rail NDR\"\nname = \"ours\"\n"
      "[chip]\nhbm_bandwidth = \"3TB/s\"\n"
      "[fabric]\nlatency = \"3us\"\noversubscription = 2\nshape = [16, 4]\n"
      "[node]\nbandwidth = { value = 400e9, source = \"our log\", basis = \"measured\" }\n");
  const auto made = Catalog::builtin().cluster((folder / "c.toml").string());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->name, "ours");
  EXPECT_EQ(made->chip.hbm_bandwidth.value, 3e12);
  EXPECT_EQ(made->levels[1].oversubscription, 2);
  EXPECT_EQ(made->levels[1].shape, (std::vector<unsigned>{16, 4}));
  EXPECT_EQ(made->levels[0].port_bandwidth.value, 400e9);
  for (const Fact& fact : made->facts) {
    if (fact.key != "node.bandwidth") continue;
    EXPECT_EQ(fact.source, "our log");
    EXPECT_EQ(fact.basis, Basis::kMeasured);
  }
}

TEST(ClusterFile, LevelsAndChipSpeltOut) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "c.toml",
                   "[chip]\nname = \"ours\"\nlike = \"h100\"\nhbm_capacity = \"96GB\"\n"
                   "[[level]]\nfabric = \"switch\"\nsize = 8\nlink = \"18 x nvlink4\"\n"
                   "[[level]]\nfabric = \"dragonfly\"\nsize = 16\nshape = \"2x4x2\"\nports = 8\n"
                   "bandwidth = \"25GB/s\"\nlatency = \"2us\"\n");
  const auto made = Catalog::builtin().cluster((folder / "c.toml").string());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 128U);
  EXPECT_EQ(made->chip.name, "ours");
  EXPECT_EQ(made->chip.hbm_capacity.value, 96e9);
  EXPECT_EQ(made->levels[1].name, "fabric");
  EXPECT_EQ(made->levels[1].child_bandwidth().value, 200e9);
}

TEST(ClusterFile, ExplicitGraph) {
  const test::TemporaryFolder folder;
  test::write_text(
      folder / "c.toml",
      "chip = \"h100\"\n[graph]\nchips = 4\nswitches = [\"a\", \"b\"]\nlinks = [\n"
      "\"0 a 50GB/s 1us\", \"1 a 50GB/s 1us\", \"2 b 40GB/s 1us\", \"3 b 50GB/s 1us\",\n"
      "\"a > b 25GB/s 0.5us\", \"b > a 25GB/s 0.5us\"]\n");
  const auto made = Catalog::builtin().cluster((folder / "c.toml").string());
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->chips(), 4U);
  EXPECT_EQ(made->graph->edges.size(), 10U);
  EXPECT_EQ(made->levels[0].port_bandwidth.value, 40e9);
  EXPECT_DOUBLE_EQ(made->levels[0].latency.value, 2.5e-6);
}

struct BadFile {
  std::string text, where, what;
};
class BadClusterFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadClusterFile, IsRefusedWithItsLine) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "c.toml", GetParam().text);
  const auto made = Catalog::builtin().cluster((folder / "c.toml").string());
  ASSERT_FALSE(made) << GetParam().text;
  EXPECT_NE(made.error().what.find(GetParam().what), std::string::npos) << made.error().text();
  EXPECT_NE(made.error().where.find("c.toml" + GetParam().where), std::string::npos)
      << made.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadClusterFile,
    testing::Values(
        BadFile{"chip = \"h1000\"\n", "", "describes no cluster"},
        BadFile{"cluster = \"8 x dgx-h101\"\n", ":1:11", "is called 'dgx-h101'"},
        BadFile{"cluster = \"8 x dgx-h100\"\nchip = \"h1000\"\n", ":2:8",
                "no chip is called 'h1000'"},
        BadFile{"cluster = \"8 x dgx-h100\"\n[fabric]\nbandwidth = -3\n", ":3:13", "negative"},
        BadFile{"cluster = \"8 x dgx-h100\"\n[fabric]\nbandwidth = \"3us\"\n", ":3:13",
                "found a time"},
        BadFile{"cluster = \"8 x dgx-h100\"\n[fabrik]\nlatency = 1\n", ":3:11",
                "no level is called 'fabrik'"},
        BadFile{"cluster = \"8 x dgx-h100\"\n[fabric]\nlatencies = 1\n", ":3:13",
                "a level has no 'latencies'"},
        BadFile{"cluster = \"8 x dgx-h100\"\nnodes = 3\n", ":2:9", "a cluster has no 'nodes'"},
        BadFile{"cluster = \"8 x dgx-h100\nx = 1\n", ":1:", ""},
        BadFile{"cluster = 8\n", ":1:11", "expected a text"},
        BadFile{"cluster = \"8 x dgx-h100\"\n[fabric]\nshape = [3, 5]\n", "", "holds 15, but 8"},
        BadFile{"[graph]\nchips = 3\nlinks = [\"0 1 50GB/s\"]\n", ":1:1",
                "rank 2 (2) is disconnected: rank 0 cannot reach it"},
        BadFile{"[graph]\nchips = 2\nlinks = [\"0 > 1 50GB/s\"]\n", ":1:1",
                "rank 0 cannot hear from it"},
        BadFile{"[graph]\nchips = 2\nlinks = [\"0 1 50us\"]\n", ":3:10", "found a time"},
        BadFile{"[graph]\nchips = 2\nlinks = [\"0 7 50GB/s\"]\n", ":3:10",
                "no chip or switch is called '7'"},
        BadFile{"[graph]\nchips = 2\nlinks = [\"0 1 0GB/s\"]\n", ":1:1", "has no bandwidth"},
        BadFile{"[graph]\nchips = 2\nlinks = [\"0 1\"]\n", ":3:10", "expected a link"},
        BadFile{"[graph]\nchips = 0\nlinks = []\n", ":1:1", "a graph needs chips and links"}));

TEST(ClusterFile, FilesThatLeadToOneAnotherEnd) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "c.toml").string();
  test::write_text(path, "cluster = \"" + path + "\"\n");
  const auto made = Catalog::builtin().cluster(path);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("leads to itself"), std::string::npos) << made.error().text();
}

TEST(ClusterFile, TheNetworkOfAGraphIsChangedInItsFile) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "topo", simai_text());
  const std::string path = (folder / "topo").string();
  EXPECT_EQ(Catalog::builtin().cluster(path + ", chip h100")->chip.name, "h100-sxm");
  for (const char* part : {", nic.latency 3us", ", rail NDR", ", NDR"}) {
    const auto made = Catalog::builtin().cluster(path + part);
    ASSERT_FALSE(made) << part;
    EXPECT_NE(made.error().what.find("graph from a file"), std::string::npos)
        << made.error().text();
  }
}

}  // namespace
}  // namespace flopcast::hardware
