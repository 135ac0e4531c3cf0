// Levels 0, 1 and 2 of the network agree where traffic is symmetric and nobody else is there.
#include "network/traffic/expand.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "network/collective/levels.h"

namespace flopcast::network {
namespace {

using Algorithm = CollectiveAlgorithm;
using Op = CollectiveOp;

Cluster cluster_of(std::vector<Level> levels, unsigned node_levels) {
  Cluster cluster;
  cluster.name = "test";
  cluster.levels = std::move(levels);
  cluster.node_levels = node_levels;
  return cluster;
}

Level level(FabricKind fabric, unsigned size, unsigned ports, double gbs, double us) {
  Level out;
  out.name = "level";
  out.fabric = fabric;
  out.size = size;
  out.shape = {size};
  out.ports = ports;
  out.port_bandwidth = {gbs * 1e9};
  out.latency = {us * 1e-6};
  return out;
}

Cluster node_of(unsigned chips) {
  return cluster_of({level(FabricKind::kSwitch, chips, 1, 50, 2)}, 1);
}

FlowSimulator simulator_of(const Topology& topology) {
  std::vector<Rate> capacities;
  for (const Topology::LinkInfo& link : topology.links()) capacities.push_back(link.capacity);
  return FlowSimulator(capacities);
}

/// When the last of a collective's flows ends, alone on the network.
double simulated_us(const Cluster& cluster, const CollectiveQuery& query, Expansion expansion) {
  const Result<Topology> topology = Topology::build(cluster);
  if (!topology) {
    ADD_FAILURE() << topology.error().text();
    return 0;
  }
  FlowSimulator flows = simulator_of(*topology);
  const auto submitted = submit_collective(flows, *topology, cluster, query, expansion, Time{});
  if (!submitted) {
    ADD_FAILURE() << submitted.error().text();
    return 0;
  }
  flows.advance();
  Time end;
  for (const FlowId flow : submitted->last) end = std::max(end, flows.query(flow).end);
  for (const FlowId flow : submitted->flows) EXPECT_LE(flows.query(flow).end, end);
  return end.us();
}

double closed_us(const Cluster& cluster, const CollectiveQuery& query) {
  const Result<GroupShape> shape = group_shape(cluster, query.ranks);
  const auto times = alpha_beta(*shape, query.op, query.algorithm, query.size);
  if (!times) {
    ADD_FAILURE() << name(query.op) << " by " << name(query.algorithm);
    return 0;
  }
  return times->total().value * 1e6;
}

CollectiveQuery query_of(Op op, Algorithm algorithm, double bytes) {
  CollectiveQuery query;
  query.op = op;
  query.algorithm = algorithm;
  query.size = {bytes};
  return query;
}

struct Pair {
  Op op;
  Algorithm algorithm;
};

void expect_levels_agree(const Cluster& cluster, const std::vector<Pair>& pairs, bool expanded) {
  for (const auto& [op, algorithm] : pairs) {
    const CollectiveQuery query = query_of(op, algorithm, 8e6);
    const double closed = closed_us(cluster, query);
    const std::string what =
        std::string(name(op)) + " by " + std::string(name(algorithm)) + " on " + cluster.name;
    // Whole bytes and picoseconds: every message may round up by one of each.
    EXPECT_NEAR(simulated_us(cluster, query, Expansion::kMacroFlow), closed, 1e-3) << what;
    if (!expanded) continue;
    EXPECT_NEAR(simulated_us(cluster, query, Expansion::kExpanded), closed, 1e-3) << what;
  }
}

const std::vector<Pair> kOnASwitch = {
    {Op::kAllReduce, Algorithm::kRing},
    {Op::kAllGather, Algorithm::kRing},
    {Op::kReduceScatter, Algorithm::kRing},
    {Op::kAllToAll, Algorithm::kRing},
    {Op::kBroadcast, Algorithm::kRing},
    {Op::kReduce, Algorithm::kRing},
    {Op::kAllReduce, Algorithm::kHalvingDoubling},
    {Op::kAllGather, Algorithm::kHalvingDoubling},
    {Op::kReduceScatter, Algorithm::kHalvingDoubling},
    {Op::kAllReduce, Algorithm::kDirect},
    {Op::kAllGather, Algorithm::kDirect},
    {Op::kReduceScatter, Algorithm::kDirect},
    {Op::kAllToAll, Algorithm::kDirect},
    {Op::kBroadcast, Algorithm::kDirect},
    {Op::kReduce, Algorithm::kDirect},
    {Op::kAllGather, Algorithm::kBruck},
    {Op::kAllToAll, Algorithm::kBruck},
    {Op::kAllGather, Algorithm::kPat},
    {Op::kReduceScatter, Algorithm::kPat},
    {Op::kBroadcast, Algorithm::kTree},
    {Op::kReduce, Algorithm::kTree},
};

TEST(Expand, LevelsAgreeOnASwitch) { expect_levels_agree(node_of(8), kOnASwitch, true); }

TEST(Expand, LevelsAgreeOnASwitchOfAnOddNumber) {
  // Without those in which some ranks have less to do than others, and run ahead.
  std::vector<Pair> even;
  for (const Pair& pair : kOnASwitch) {
    const bool uneven = pair.algorithm == Algorithm::kHalvingDoubling ||
                        (pair.algorithm == Algorithm::kTree && pair.op == Op::kReduce);
    if (!uneven) even.push_back(pair);
  }
  expect_levels_agree(node_of(7), even, true);
}

TEST(Expand, LevelsAgreeOnAFullMesh) {
  const Cluster mesh = cluster_of({level(FabricKind::kFullyConnected, 4, 3, 100, 2)}, 1);
  expect_levels_agree(mesh,
                      {{Op::kAllReduce, Algorithm::kDirect},
                       {Op::kAllToAll, Algorithm::kDirect},
                       {Op::kAllGather, Algorithm::kHalvingDoubling}},
                      true);
}

TEST(Expand, LevelsAgreeOnRingsAndTori) {
  const Cluster ring = cluster_of({level(FabricKind::kRing, 6, 2, 25, 1)}, 1);
  expect_levels_agree(
      ring, {{Op::kAllReduce, Algorithm::kRing}, {Op::kAllReduce, Algorithm::kTorus}}, true);
  Level torus = level(FabricKind::kTorus, 12, 4, 25, 1);
  torus.shape = {4, 3};
  expect_levels_agree(cluster_of({torus}, 1),
                      {{Op::kAllReduce, Algorithm::kTorus},
                       {Op::kAllGather, Algorithm::kTorus},
                       {Op::kReduceScatter, Algorithm::kTorus}},
                      true);
}

TEST(Expand, LevelsAgreeOnNodesWithRails) {
  const Cluster rails = cluster_of(
      {level(FabricKind::kSwitch, 8, 1, 450, 1), level(FabricKind::kRail, 4, 8, 50, 5)}, 1);
  // The note's vector: 2 x 7 x (1 + 8.889) + 2 x 3 x (5 + 20) us at 32 MB.
  EXPECT_NEAR(closed_us(rails, query_of(Op::kAllReduce, Algorithm::kHierarchical, 32e6)),
              288.444444, 1e-5);
  expect_levels_agree(rails,
                      {{Op::kAllReduce, Algorithm::kHierarchical},
                       {Op::kAllGather, Algorithm::kHierarchical},
                       {Op::kReduceScatter, Algorithm::kHierarchical},
                       {Op::kAllReduce, Algorithm::kHalvingDoubling}},
                      true);
}

TEST(Expand, MacroFlowsOfFlatRingsAndTreesAcrossNodesAreTheClosedForms) {
  const Cluster rails = cluster_of(
      {level(FabricKind::kSwitch, 8, 1, 900, 1), level(FabricKind::kRail, 8, 4, 50, 5)}, 1);
  expect_levels_agree(
      rails, {{Op::kAllReduce, Algorithm::kRing}, {Op::kAllGather, Algorithm::kRing}}, false);
}

/// Nodes with unequal shares of the members: the ring goes through each once, whatever their numbers.
TEST(Expand, RingsOfUnequalNodesPassEachNodeOnce) {
  const Cluster cluster = cluster_of(
      {level(FabricKind::kSwitch, 8, 1, 50, 2), level(FabricKind::kSwitch, 4, 8, 10, 5)}, 1);
  CollectiveQuery query = query_of(Op::kAllReduce, Algorithm::kRing, 8e6);
  for (const unsigned last : {1U, 2U, 5U}) {
    query.ranks = {0, 1, 2, 3, 4, 5, 8, 9, 10, 11};
    for (unsigned i = 0; i < last; ++i) query.ranks.push_back(24 + i);
    const auto plan = plan_messages(*group_shape(cluster, query.ranks), query.ranks, query,
                                    Algorithm::kRing, Detail::kTraffic);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->runs.size(), 1U);
    std::vector<std::uint32_t> chips = plan->runs[0];
    unsigned crossings = 0;
    for (std::size_t i = 0; i < chips.size(); ++i) {
      crossings += chips[i] / 8 != chips[(i + 1) % chips.size()] / 8;
    }
    EXPECT_EQ(crossings, 3U);
    std::ranges::sort(chips);
    EXPECT_EQ(chips, query.ranks);
  }
}

/// However unequally they lie on nodes and pods, each of them takes part and nobody else does.
RC_GTEST_PROP(ExpandProperty, MessagesAreBetweenMembers, ()) {
  const Cluster cluster =
      cluster_of({level(FabricKind::kSwitch, 8, 1, 50, 2), level(FabricKind::kSwitch, 3, 8, 10, 5),
                  level(FabricKind::kSwitch, 2, 8, 5, 5)},
                 1);
  const auto op = static_cast<Op>(*rc::gen::inRange(0, 8));
  const auto algorithm = static_cast<Algorithm>(*rc::gen::inRange(1, 11));
  std::vector<std::uint32_t> ranks = *rc::gen::unique<std::vector<std::uint32_t>>(
      op == Op::kSendRecv ? 2 : *rc::gen::inRange<std::size_t>(2, 20),
      rc::gen::inRange<std::uint32_t>(0, cluster.chips()));
  std::ranges::sort(ranks);
  CollectiveQuery query = query_of(op, algorithm, 8e6);
  query.ranks = ranks;
  const GroupShape shape = *group_shape(cluster, ranks);
  const auto phases = plan_traffic(shape, ranks, query, algorithm);
  RC_PRE(phases.ok());
  std::vector<std::uint32_t> seen;
  for (const TrafficPhase& phase : *phases) {
    for (const Topology::Message& message : phase.messages) {
      seen.push_back(message.src);
      seen.push_back(message.dst);
    }
  }
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  RC_ASSERT(seen == ranks);
}

TEST(Expand, OneNodesMulticastIsTheClosedForm) {
  Cluster node = node_of(8);
  node.levels[0].in_network_reduction = true;
  expect_levels_agree(node, {{Op::kAllReduce, Algorithm::kNvls}}, false);
  const auto messages = plan_messages(*group_shape(node, {}), std::vector<std::uint32_t>(8),
                                      query_of(Op::kAllReduce, Algorithm::kNvls, 8e6),
                                      Algorithm::kNvls, Detail::kTraffic);
  ASSERT_FALSE(messages);
  EXPECT_EQ(messages.error().code, ErrorCode::kNoAnswer);
}

TEST(Expand, PipelinedTreesComeNearTheirClosedForm) {
  const Cluster node = node_of(8);
  const CollectiveQuery query = query_of(Op::kAllReduce, Algorithm::kTree, 64e6);
  const double closed = closed_us(node, query);
  EXPECT_NEAR(simulated_us(node, query, Expansion::kMacroFlow), closed, 1e-3);
  // 32 parts, oldest first: the fill, and 64 latencies of 2 us.
  EXPECT_NEAR(simulated_us(node, query, Expansion::kExpanded), closed, 0.3 * closed);
}

TEST(Expand, AnotherFlowOnOneLinkPacesTheWholeRing) {
  const Cluster node = node_of(8);
  const Result<Topology> topology = Topology::build(node);
  ASSERT_TRUE(topology);
  FlowSimulator flows = simulator_of(*topology);
  std::vector<LinkId> path;
  topology->route(2, 3, 0, path);
  const std::vector<LinkUse> crossed = {{path[0], 1}};
  FlowSpec background;
  background.path = crossed;
  background.background = true;
  ASSERT_TRUE(flows.submit(background, Time{}));
  const auto ring =
      submit_collective(flows, *topology, node, query_of(Op::kAllReduce, Algorithm::kRing, 8e6),
                        Expansion::kMacroFlow, Time{});
  ASSERT_TRUE(ring);
  // Half of one link's 50 GB/s for all: 14 x (2 + 40) us instead of 14 x (2 + 20).
  flows.advance(Time::from_us(10000));
  EXPECT_NEAR(flows.query(ring->last.at(0)).end.us(), 588, 1e-3);
}

TEST(Expand, FlowsStartAfterWhatTheyWaitForAndAChainOfCollectivesAdds) {
  const Cluster node = node_of(4);
  const Result<Topology> topology = Topology::build(node);
  ASSERT_TRUE(topology);
  for (const Expansion expansion : {Expansion::kMacroFlow, Expansion::kExpanded}) {
    FlowSimulator flows = simulator_of(*topology);
    const CollectiveQuery query = query_of(Op::kAllGather, Algorithm::kRing, 4e6);
    const auto first =
        submit_collective(flows, *topology, node, query, expansion, Time::from_us(7));
    ASSERT_TRUE(first);
    const auto second =
        submit_collective(flows, *topology, node, query, expansion, Time{}, first->last);
    ASSERT_TRUE(second);
    flows.advance();
    Time end;
    for (const FlowId flow : second->last) end = std::max(end, flows.query(flow).end);
    EXPECT_NEAR(end.us(), 7 + 2 * 3 * (2 + 20), 1e-3);
  }
}

TEST(Expand, OneRankHasNothingToSend) {
  const Cluster node = node_of(4);
  CollectiveQuery query = query_of(Op::kAllReduce, Algorithm::kAuto, 1e9);
  query.ranks = {2};
  EXPECT_EQ(simulated_us(node, query, Expansion::kMacroFlow), 0);
}

TEST(Expand, RefusesWhatItCannotDo) {
  const Cluster node = node_of(6);
  const Result<Topology> topology = Topology::build(node);
  FlowSimulator flows = simulator_of(*topology);
  const auto refused = [&](CollectiveQuery query) {
    const auto out = submit_collective(flows, *topology, node, query, Expansion::kExpanded, Time{});
    return out ? std::string() : out.error().text();
  };
  EXPECT_NE(refused(query_of(Op::kAllGather, Algorithm::kHalvingDoubling, 1)).find("not possible"),
            std::string::npos);
  EXPECT_NE(refused(query_of(Op::kSendRecv, Algorithm::kAuto, 1)).find("between 6"),
            std::string::npos);
  CollectiveQuery beyond = query_of(Op::kAllReduce, Algorithm::kRing, 1);
  beyond.ranks = {0, 6};
  EXPECT_NE(refused(beyond).find("no chip 6"), std::string::npos);
  beyond.ranks = {1, 1};
  EXPECT_NE(refused(beyond).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace flopcast::network
