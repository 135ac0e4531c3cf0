#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "flopcast/network.h"
#include "network/topology/fabric.h"

namespace flopcast::network {
namespace {

Cluster cluster(const std::string& text) {
  auto made = Catalog::builtin().cluster(text);
  EXPECT_TRUE(made) << text << ": " << (made ? "" : made.error().text());
  return made ? std::move(*made) : Cluster{};
}

Topology topology(const std::string& text, const RoutingOptions& options = {}) {
  auto built = Topology::build(cluster(text), options);
  EXPECT_TRUE(built) << text;
  return std::move(*built);
}

std::vector<LinkId> route(const Topology& topology, std::uint32_t from, std::uint32_t to,
                          std::uint64_t flow = 0) {
  std::vector<LinkId> path;
  topology.route(from, to, flow, path);
  return path;
}

/// Empty where the route is as it must be, else what is wrong with it.
std::string fault(const Topology& topology, std::uint32_t from, std::uint32_t to,
                  std::uint64_t flow) {
  const std::vector<LinkId> path = route(topology, from, to, flow);
  if (from == to) return path.empty() ? "" : "a way to itself";
  std::uint32_t at = from;
  for (const LinkId link : path) {
    if (link >= topology.links().size()) return "a link that is not there";
    if (topology.links()[link].from != at) return "not connected";
    at = topology.links()[link].to;
  }
  if (at != to) return "ends elsewhere";
  const std::set<LinkId> once(path.begin(), path.end());
  if (once.size() != path.size()) return "a link twice";
  return "";
}

void expect_sound(const Topology& topology, const std::string& what) {
  std::map<std::uint32_t, int> degree;
  for (const Topology::LinkInfo& link : topology.links()) {
    ASSERT_GT(link.capacity.value, 0) << what;
    ASSERT_GE(link.latency.ps, 0) << what;
    ASSERT_LT(std::max(link.from, link.to), topology.vertices()) << what;
    ASSERT_NE(link.from, link.to) << what;
    ++degree[link.from];
    --degree[link.to];
  }
  for (const auto& [vertex, balance] : degree) ASSERT_EQ(balance, 0) << what << " " << vertex;
  const std::uint32_t n = topology.endpoints();
  const std::uint32_t stride = std::max(1U, n / 61);
  for (std::uint32_t from = 0; from < n; from += stride) {
    for (std::uint32_t to = 0; to < n; ++to) {
      ASSERT_EQ(fault(topology, from, to, from ^ to), "") << what << ": " << from << " to " << to;
    }
  }
}

class EveryFabric : public testing::TestWithParam<const char*> {};

TEST_P(EveryFabric, RoutesAreSound) {
  for (const Balancing balancing : {Balancing::kDestination, Balancing::kEcmp, Balancing::kSpray}) {
    for (const bool pxn : {false, true}) {
      const RoutingOptions options{balancing, 7, pxn};
      expect_sound(topology(GetParam(), options), GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryFabric,
    testing::Values("h100", "dgx-h100", "2 x dgx-h100", "64 x dgx-h100", "37 x dgx-h100",
                    "8 x dgx-h100, switch", "8 x dgx-h100, fat-tree 2x4, oversubscription 3",
                    "16 x dgx-h100, fat-tree 2x2x4, oversubscription 2",
                    "8 x dgx-h100, fat-tree 2x1x4", "12 x dgx-h100, ring",
                    "6 x dgx-h100, fully-connected", "12 x dgx-h100, torus 2x3x2",
                    "24 x dgx-h100, dragonfly 2x3x4", "13 x perlmutter-node",
                    "130 x perlmutter-node", "5 x frontier-node", "16 x dgx-1-v100", "4 x mi300x-8",
                    "3 x gaudi2-8", "tpu-v4, torus 4x6x2 ici-v4", "tpu-v4, torus 1x5 ici-v4",
                    "h100, ring 2 nvlink4",
                    "h100, ring 5 nvlink4, ring 4 ndr, fully-connected 3 hdr",
                    "h100, fully-connected 4 nvlink4, torus 2x3 ndr, switch 4 hdr",
                    "8 x dgx-h100, rail NDR, switch 3, ports 5, bandwidth 10GB/s",
                    "a100_pairwise_nvlink", "8 x dgx-h100, ports 3", "4 x gb200-nvl72"));

RC_GTEST_PROP(TopologyProperty, AnyCompositionOfLevelsHasSoundRoutes, ()) {
  Cluster made;
  made.name = "random";
  const int levels = *rc::gen::inRange(1, 4);
  for (int i = 0; i < levels; ++i) {
    Level level;
    level.name = "l" + std::to_string(i);
    level.fabric = static_cast<FabricKind>(*rc::gen::inRange(0, 7));
    level.size = *rc::gen::inRange(1U, 7U);
    if (level.fabric == FabricKind::kTorus) {
      level.shape = {level.size, *rc::gen::inRange(1U, 4U)};
      level.size *= level.shape[1];
    }
    level.ports = *rc::gen::inRange(1U, 20U);
    level.port_bandwidth = {1e9 * *rc::gen::inRange(1, 100)};
    level.latency = {1e-9 * *rc::gen::inRange(0, 9999)};
    level.efficiency = 0.5;
    level.oversubscription = *rc::gen::inRange(1, 5);
    made.levels.push_back(level);
  }
  const RoutingOptions options{static_cast<Balancing>(*rc::gen::inRange(0, 3)), 3,
                               *rc::gen::arbitrary<bool>()};
  const auto built = Topology::build(made, options);
  RC_ASSERT(built.ok());
  const std::uint32_t n = built->endpoints();
  for (int i = 0; i < 50; ++i) {
    const auto from = *rc::gen::inRange(0U, n), to = *rc::gen::inRange(0U, n);
    RC_ASSERT(fault(*built, from, to, 0) == "");
  }
}

TEST(Topology, CapacityIsBandwidthTimesEfficiencyAndLatenciesSum) {
  const Topology built = topology("64 x dgx-h100, rail 32x2 NDR");
  const auto inside = route(built, 0, 5);
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(built.links()[inside[0]].capacity.value, Rate::from({450e9 * 0.824}).value);
  EXPECT_EQ(built.latency(inside), Time::from_ns(2500));
  const auto rail = route(built, 0, 8 * 31);  // one leaf
  ASSERT_EQ(rail.size(), 2U);
  EXPECT_EQ(built.links()[rail[0]].capacity.value, Rate::from({48e9}).value);
  EXPECT_EQ(built.latency(rail), Time::from_us(5));
  EXPECT_EQ(route(built, 0, 8 * 32).size(), 4U);   // the other leaf
  const auto across = route(built, 1, 8 * 3 + 6);  // another rail
  ASSERT_EQ(across.size(), 4U);
  EXPECT_EQ(built.latency(across), Time::from_us(5));
  EXPECT_EQ(built.links()[across[0]].level, 1);
  EXPECT_EQ(built.links()[inside[0]].level, 0);
}

TEST(Topology, OddPicosecondsAreNotLost) {
  Cluster made = cluster("2 x dgx-h100");
  made.levels[1].latency = {5.000001e-6};
  const auto built = Topology::build(made);
  EXPECT_EQ(built->latency(route(*built, 0, 8)).ps, 5000001);
}

TEST(Topology, NamesOfVerticesAndLinks) {
  const Topology built = topology("4 x dgx-h100");
  const auto path = route(built, 13, 3 * 8 + 2);
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(built.link_name(path[0]), "node1.chip5 > fabric.rail5.leaf0");
  EXPECT_EQ(built.link_name(path[1]), "fabric.rail5.leaf0 > fabric.spine3");
  EXPECT_EQ(built.link_name(path[3]), "fabric.rail2.leaf0 > node3.chip2");
  EXPECT_EQ(built.link_name(route(built, 13, 14)[0]), "node1.chip5 > node1.switch");
  const Topology shared = topology("2 x frontier-node");
  EXPECT_EQ(shared.link_name(route(shared, 3, 11)[0]), "node0.chip3 > fabric.child0.port1");
}

TEST(Topology, ChipsShareTheNicOfTheirRail) {
  const Topology built = topology("2 x frontier-node");  // 8 chips, 4 ports
  for (std::uint32_t chip = 0; chip < 8; ++chip) {
    const auto path = route(built, chip, 8 + chip);
    EXPECT_EQ(built.vertex_name(built.links()[path[1]].from),
              "fabric.child0.port" + std::to_string(chip / 2));
  }
}

TEST(Topology, TorusRoutesAreMinimalAndDimensionOrdered) {
  const unsigned shape[] = {4, 5, 6};
  const Topology built = topology("tpu-v4, torus 4x5x6 ici-v4");
  const auto at = [&](std::uint32_t chip, int d) {
    for (int i = 0; i < d; ++i) chip /= shape[i];
    return chip % shape[d];
  };
  for (std::uint32_t from = 0; from < 120; ++from) {
    for (std::uint32_t to = 0; to < 120; ++to) {
      std::uint32_t hops = 0;
      for (int d = 0; d < 3; ++d) {
        const unsigned up = (at(to, d) + shape[d] - at(from, d)) % shape[d];
        hops += std::min(up, shape[d] - up);
      }
      const auto path = route(built, from, to);
      ASSERT_EQ(path.size(), hops);
      int last = 0;
      for (const LinkId link : path) {
        const auto& info = built.links()[link];
        int moved = 0;
        while (at(info.from, moved) == at(info.to, moved)) ++moved;
        ASSERT_GE(moved, last);
        last = moved;
      }
    }
  }
}

/// How many pairs of an all-to-all use each link of `level`.
std::map<LinkId, int> load(const Topology& built, std::uint16_t level) {
  std::map<LinkId, int> uses;
  for (LinkId link = 0; link < built.links().size(); ++link) {
    if (built.links()[link].level == level) uses[link] = 0;
  }
  for (std::uint32_t from = 0; from < built.endpoints(); ++from) {
    for (std::uint32_t to = 0; to < built.endpoints(); ++to) {
      for (const LinkId link : route(built, from, to)) {
        if (built.links()[link].level == level) ++uses[link];
      }
    }
  }
  return uses;
}

/// Distinct (capacity, load) of a level's links: a symmetric fabric has few.
std::set<std::pair<std::int64_t, int>> kinds(const Topology& built, std::uint16_t level) {
  std::set<std::pair<std::int64_t, int>> kinds;
  for (const auto& [link, uses] : load(built, level))
    kinds.emplace(built.links()[link].capacity.value, uses);
  return kinds;
}

TEST(Topology, AllToAllLoadsEqualLinksEqually) {
  EXPECT_EQ(kinds(topology("8 x dgx-h100"), 0).size(), 1U);
  // Ports, and links between leaves and spines.
  EXPECT_EQ(kinds(topology("8 x dgx-h100"), 1).size(), 2U);
  EXPECT_EQ(kinds(topology("16 x dgx-h100, rail 4x4"), 1).size(), 2U);
  EXPECT_EQ(kinds(topology("16 x dgx-h100, fat-tree 4x4"), 1).size(), 1U + 1U);
  EXPECT_EQ(kinds(topology("tpu-v4, torus 4x4x4 ici-v4"), 0).size(), 1U);
  EXPECT_EQ(kinds(topology("h100, ring 8 nvlink4"), 0).size(), 1U);
  EXPECT_EQ(kinds(topology("h100, fully-connected 8 nvlink4"), 0).size(), 1U);
}

TEST(Topology, DestinationsOfOneLeafNeverMeetOnTheWayDown) {
  const Topology built = topology("16 x dgx-h100, fat-tree 4x4");
  std::map<LinkId, std::set<std::uint32_t>> destinations;
  for (std::uint32_t from = 0; from < built.endpoints(); ++from) {
    for (std::uint32_t to = 0; to < built.endpoints(); ++to) {
      const auto path = route(built, from, to);
      if (path.size() == 4) destinations[path[2]].insert(to);
    }
  }
  EXPECT_FALSE(destinations.empty());
  for (const auto& [link, met] : destinations) EXPECT_EQ(met.size(), 1U) << built.link_name(link);
}

TEST(Topology, EcmpDependsOnFlowAndSeedAlone) {
  const std::string text = "16 x dgx-h100, fat-tree 4x4";
  const Topology one = topology(text, {Balancing::kEcmp, 1, false});
  const Topology two = topology(text, {Balancing::kEcmp, 2, false});
  std::set<std::vector<LinkId>> ways, other;
  for (std::uint64_t flow = 0; flow < 200; ++flow) {
    ways.insert(route(one, 0, 127, flow));
    EXPECT_EQ(route(one, 0, 127, flow), route(one, 0, 127, flow));
    other.insert({route(two, 0, 127, flow)[1]});
  }
  EXPECT_GT(ways.size(), 20U);  // of 32
  EXPECT_NE(route(one, 0, 127, 0), route(two, 0, 127, 0));
  EXPECT_EQ(route(topology(text), 0, 127, 0), route(topology(text), 0, 127, 1));
}

TEST(Topology, SprayJoinsTheUplinksOfALeaf) {
  const Topology built =
      topology("16 x dgx-h100, fat-tree 4x4, oversubscription 2", {Balancing::kSpray, 0, false});
  const auto path = route(built, 0, 127);
  ASSERT_EQ(path.size(), 4U);
  // 4 nodes of 8 ports of 48 GB/s, half of it up.
  EXPECT_EQ(built.links()[path[1]].capacity.value, Rate::from({16 * 48e9}).value);
}

TEST(Topology, OversubscriptionHalvesWhatLeavesALeaf) {
  for (const double ratio : {1.0, 2.0, 3.0}) {
    Cluster made = cluster("16 x dgx-h100, fat-tree 4x4");
    made.levels[1].oversubscription = ratio;
    const auto built = Topology::build(made);
    double up = 0;
    std::uint32_t leaf = built->links()[route(*built, 0, 127)[0]].to;
    for (const auto& link : built->links()) {
      if (link.from == leaf && link.to >= built->endpoints())
        up += link.capacity.bytes_per_second().value;
    }
    EXPECT_NEAR(up, 32 * 48e9 / ratio, 1) << ratio;
  }
}

TEST(Topology, PxnStaysOnTheRailOfTheDestination) {
  const Topology built = topology("8 x dgx-h100", {Balancing::kDestination, 0, true});
  const auto path = route(built, 1, 8 * 3 + 6);
  ASSERT_EQ(path.size(), 4U);  // NVSwitch to the neighbour on rail 6, rail 6
  EXPECT_EQ(built.links()[path[1]].to, 6U);
  EXPECT_EQ(built.link_name(path[2]), "node0.chip6 > fabric.rail6.leaf0");
}

TEST(Topology, WhatDoesNotFitIsRefused) {
  const auto many = Topology::build(cluster("h100, fully-connected 20000 nvlink4"));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kTooLarge);
  Cluster broken = cluster("2 x dgx-h100");
  broken.levels[1].port_bandwidth = {};
  EXPECT_FALSE(Topology::build(broken));
  broken.levels.clear();
  EXPECT_FALSE(Topology::build(broken));
}

TEST(Topology, EightThousandChips) {
  const Topology built = topology("1024 x dgx-h100");
  EXPECT_EQ(built.endpoints(), 8192U);
  EXPECT_LT(built.links().size(), 50'000U);
  EXPECT_EQ(fault(built, 1, 8190, 0), "");
}

// --- Explicit graphs ----------------------------------------------------------------------------

Cluster graph_cluster(unsigned chips, std::uint32_t switches,
                      const std::vector<std::array<double, 3>>& links) {
  Cluster made;
  made.name = "graph";
  Level level;
  level.name = "node";
  level.size = chips;
  level.port_bandwidth = {1e9};
  made.levels = {level};
  made.graph.emplace();
  // Switches first: chips must be found by rank, not by place.
  for (std::uint32_t i = 0; i < switches; ++i)
    made.graph->vertices.push_back({"s" + std::to_string(i), -1});
  for (unsigned i = 0; i < chips; ++i) {
    made.graph->vertices.push_back({"c" + std::to_string(i), static_cast<std::int32_t>(i)});
  }
  // Ends as in the tests below: chips from 0, switches after them.
  const auto place = [&](double end) {
    const auto id = static_cast<std::uint32_t>(end);
    return id < chips ? id + switches : id - chips;
  };
  for (const auto& [a, b, gigabytes] : links) {
    made.graph->edges.push_back({place(a), place(b), {gigabytes * 1e9}, {1e-6}});
    made.graph->edges.push_back({place(b), place(a), {gigabytes * 1e9}, {1e-6}});
  }
  return made;
}

/// Leaves with their chips, each on every spine.
std::vector<std::array<double, 3>> two_tiers(int leaves, int chips_per_leaf, int spines) {
  std::vector<std::array<double, 3>> links;
  const int chips = leaves * chips_per_leaf;
  links.reserve(512);
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int chip = 0; chip < chips_per_leaf; ++chip) {
      links.push_back({1.0 * leaf * chips_per_leaf + chip, 1.0 * chips + leaf, 50});
    }
    for (int spine = 0; spine < spines; ++spine) {
      links.push_back({1.0 * chips + leaf, 1.0 * chips + leaves + spine, 50});
    }
  }
  return links;
}

TEST(TopologyGraph, ChipsForwardOnlyWhereThereIsNoOtherWay) {
  // 0 - 1 - 2 as a line, and a longer way from 0 to 2 over two switches.
  const auto built = Topology::build(
      graph_cluster(3, 2, {{0, 1, 10}, {1, 2, 10}, {0, 3, 1}, {3, 4, 1}, {4, 2, 1}}));
  ASSERT_TRUE(built);
  EXPECT_EQ(route(*built, 0, 2).size(), 3U);
  const auto line = Topology::build(graph_cluster(3, 0, {{0, 1, 10}, {1, 2, 10}}));
  EXPECT_EQ(route(*line, 0, 2).size(), 2U);
}

TEST(TopologyGraph, OfWaysWithEqualHopsTheWiderIsTaken) {
  const auto built =
      Topology::build(graph_cluster(2, 2, {{0, 2, 10}, {2, 1, 10}, {0, 3, 20}, {3, 1, 20}}));
  EXPECT_EQ(built->vertex_name(built->links()[route(*built, 0, 1)[0]].to), "s1");
}

TEST(TopologyGraph, SoundAndSpreadOverEqualWays) {
  const auto links = two_tiers(4, 4, 2);
  for (const Balancing balancing : {Balancing::kDestination, Balancing::kEcmp}) {
    const auto built = Topology::build(graph_cluster(16, 6, links), {balancing, 1, false});
    ASSERT_TRUE(built) << built.error().text();
    expect_sound(*built, "graph");
    if (balancing == Balancing::kDestination) {
      EXPECT_EQ(kinds(*built, 0).size(), 2U);  // ports; uplinks, all alike
    }
  }
}

TEST(TopologyGraph, DisconnectedRanksAreRefused) {
  const auto built = Topology::build(graph_cluster(3, 1, {{0, 3, 1}, {1, 3, 1}}));
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().what.find("rank 2 (c2) is disconnected"), std::string::npos);
}

TEST(TopologyGraphThreads, FindTheSameRoutes) {
  const auto links = two_tiers(4, 8, 4);
  const auto shared = Topology::build(graph_cluster(32, 8, links));
  const auto alone = Topology::build(graph_cluster(32, 8, links));
  std::vector<std::vector<LinkId>> paths(32 * 32);
  parallel_for(paths.size(), 4, [&](std::size_t i) {
    shared->route(static_cast<std::uint32_t>(i % 32), static_cast<std::uint32_t>(i / 32), 0,
                  paths[i]);
  });
  for (std::uint32_t i = 0; i < paths.size(); ++i)
    ASSERT_EQ(paths[i], route(*alone, i % 32, i / 32));
}

TEST(SimgridPlatform, WritesHostsLinksAndRoutes) {
  std::ostringstream out;
  write_simgrid_platform(
      topology("2 x h100, node.latency 2us, node.bandwidth 1GB/s, node.efficiency 1"), out);
  EXPECT_EQ(out.str(),
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "<zone id=\"cluster\" routing=\"Full\">\n"
            "<host id=\"0\" speed=\"1Gf\"/>\n"
            "<host id=\"1\" speed=\"1Gf\"/>\n"
            "<link id=\"l0\" bandwidth=\"1000000000Bps\" latency=\"1000000ps\"/>\n"
            "<link id=\"l1\" bandwidth=\"1000000000Bps\" latency=\"1000000ps\"/>\n"
            "<link id=\"l2\" bandwidth=\"1000000000Bps\" latency=\"1000000ps\"/>\n"
            "<link id=\"l3\" bandwidth=\"1000000000Bps\" latency=\"1000000ps\"/>\n"
            "<route src=\"0\" dst=\"1\" symmetrical=\"NO\"><link_ctn id=\"l0\"/><link_ctn "
            "id=\"l3\"/></route>\n"
            "<route src=\"1\" dst=\"0\" symmetrical=\"NO\"><link_ctn id=\"l1\"/><link_ctn "
            "id=\"l2\"/></route>\n"
            "</zone>\n</platform>\n");
}

}  // namespace
}  // namespace flopcast::network
