#include "flopcast/network/closed_form.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "network/collective/nccl_tuning.h"
#include "network/collective/testing.h"

namespace flopcast::network {
namespace {

using namespace closed_form;  // NOLINT(google-build-using-namespace): the subject of the file

constexpr Hop kHop{{2e-6}, {50e9}};
constexpr Bytes kSize{8e6};

Hop hop(double latency_us, double gbs) { return {{latency_us * 1e-6}, {gbs * 1e9}}; }

struct Vector {
  const char* what;
  double us;
  std::function<Seconds()> formula;
};

NcclGraph nccl_graph(unsigned ranks, unsigned nodes) {
  NcclGraph graph;
  graph.architecture = NcclArchitecture::kHopper;
  graph.ranks = ranks, graph.nodes = nodes, graph.channels = 16;
  graph.intra_gbs = graph.inter_gbs = 20;
  return graph;
}

Seconds nccl_ring(unsigned ranks, unsigned nodes, CollectiveProtocol protocol, double bytes) {
  return nccl_cost(nccl_graph(ranks, nodes), CollectiveOp::kAllReduce, CollectiveAlgorithm::kRing,
                   protocol, {bytes})
      ->time();
}

DualNetwork dual(unsigned nics) { return {32, 8, nics, hop(2.5, 450), hop(5, 50)}; }

std::vector<Vector> vectors() {
  const auto ring = [](unsigned size, double us, double gbs) {
    return DimensionHop{size, hop(us, gbs), Dimension::kRing};
  };
  return {
      {"ring reduce-scatter", 154, [] { return ring_pass(8, kSize, kHop); }},
      {"ring all-gather", 154, [] { return ring_pass(8, kSize, kHop); }},
      {"ring all-reduce", 308, [] { return ring_all_reduce(8, kSize, kHop); }},
      {"ring all-reduce of 5", 272, [] { return ring_all_reduce(5, kSize, kHop); }},
      {"one shot", 1122, [] { return one_shot_all_reduce(8, kSize, kHop); }},
      {"two shots", 284, [] { return two_shot_all_reduce(8, kSize, kHop); }},
      {"two-way ring", 168, [] { return bidirectional_ring_all_reduce(8, kSize, kHop); }},
      {"chain", 264, [] { return chain(8, kSize, kHop, 16); }},
      {"halving-doubling", 292, [] { return halving_doubling_all_reduce(8, kSize, kHop); }},
      {"doubling all-gather", 146, [] { return halving_pass(8, kSize, kHop); }},
      {"binomial", 486, [] { return binomial_tree(8, kSize, kHop); }},
      {"pairwise", 154, [] { return pairwise_all_to_all(8, kSize, kHop); }},
      {"Bruck all-to-all", 246, [] { return bruck_all_to_all(8, kSize, kHop); }},
      {"direct all-to-all", 142, [] { return direct_pass(8, kSize, kHop); }},
      {"fully connected", 44, [] { return 2 * fully_connected_pass(8, kSize, kHop); }},
      {"two-way ring a2a, even", 160,
       [] { return ring_all_to_all_transfer(8, kSize, {50e9}, true); }},
      {"two-way ring a2a, odd", 120,
       [] { return ring_all_to_all_transfer(7, {7e6}, {50e9}, true); }},
      {"one-way ring a2a", 560, [] { return ring_all_to_all_transfer(8, kSize, {50e9}, false); }},
      {"2-D torus", 612,
       [=] {
         return dimension_ordered_all_reduce({16e6}, std::array{ring(4, 1, 50), ring(4, 1, 50)});
       }},
      {"3-D torus", 1698,
       [=] {
         const std::array dimensions = {ring(4, 1, 100), ring(4, 1, 50), ring(4, 1, 25)};
         return dimension_ordered_all_reduce({64e6}, dimensions);
       }},
      {"NVSwitch and rails", 288.444444,
       [=] {
         return dimension_ordered_all_reduce({32e6}, std::array{ring(8, 1, 450), ring(4, 5, 50)});
       }},
      {"dual network, 8 NICs", 77.5, [] { return dual_network_transfer({32e6}, dual(8)); }},
      {"dual network, 4 NICs", 155, [] { return dual_network_transfer({32e6}, dual(4)); }},
      {"NVLS", 24, [] { return nvls_all_reduce(8, kSize, hop(2, 450)); }},
      {"double tree", 332, [] { return double_binary_tree_all_reduce(8, kSize, kHop); }},
      {"NCCL ring Simple", 5524.75,
       [] { return nccl_ring(8, 1, CollectiveProtocol::kSimple, 1e9); }},
      {"NCCL ring LL128", 46.544293,
       [] { return nccl_ring(8, 1, CollectiveProtocol::kLl128, 1e6); }},
      {"NCCL ring LL", 15.124113, [] { return nccl_ring(8, 1, CollectiveProtocol::kLl, 1e4); }},
      {"NCCL ring Simple, 4 nodes", 6450.6075,
       [] { return nccl_ring(32, 4, CollectiveProtocol::kSimple, 1e9); }},
  };
}

TEST(ClosedForm, AgreesWithWorkedNumbers) {
  const std::vector<Vector> all = vectors();
  for (const Vector& vector : all) {
    EXPECT_NEAR(vector.formula().value * 1e6, vector.us, 1e-6 * vector.us) << vector.what;
  }
}

TEST(ClosedForm, BestChunkCountOfAChainIsTheBestOfAll) {
  for (const unsigned p : {2U, 3U, 8U, 64U}) {
    const unsigned best = best_chain_chunks(p, kSize, kHop);
    for (unsigned k = 1; k < 400; ++k) {
      EXPECT_LE(chain(p, kSize, kHop, best).value, chain(p, kSize, kHop, k).value * (1 + 1e-12))
          << p << " " << k;
    }
  }
  EXPECT_EQ(best_chain_chunks(8, {0}, kHop), 1U);
}

TEST(ClosedForm, FoldingCostsOneExchangeOfTheWholeBufferEachWay) {
  const Seconds eight = halving_doubling_all_reduce(8, kSize, kHop);
  EXPECT_NEAR((halving_doubling_all_reduce(11, kSize, kHop) - eight).value, 324e-6, 1e-12);
}

TEST(ClosedForm, OneRankHasNothingToDo) {
  EXPECT_EQ(ring_all_reduce(1, kSize, kHop).value, 0);
  EXPECT_EQ(halving_doubling_all_reduce(1, kSize, kHop).value, 0);
  EXPECT_EQ(
      dimension_ordered_pass(kSize, std::array{DimensionHop{1, kHop, Dimension::kRing}}).value, 0);
}

TEST(NcclTuning, ChoosesWhatIsFastest) {
  const auto choices = nccl_choices(nccl_graph(8, 1), CollectiveOp::kAllReduce, {1e9});
  ASSERT_EQ(choices.size(), 6U);  // ring and tree, three protocols each; no multicast here
  for (std::size_t i = 1; i < choices.size(); ++i) {
    EXPECT_LE(choices[i - 1].cost.time(), choices[i].cost.time());
  }
  EXPECT_EQ(choices[0].algorithm, CollectiveAlgorithm::kRing);
  EXPECT_EQ(choices[0].protocol, CollectiveProtocol::kSimple);
  EXPECT_EQ(nccl_choices(nccl_graph(8, 1), CollectiveOp::kAllReduce, {1024})[0].protocol,
            CollectiveProtocol::kLl);
}

TEST(NcclTuning, MulticastHalvesTheTrafficOfAnAllReduce) {
  NcclGraph graph = nccl_graph(8, 1);
  graph.multicast = true;
  const auto nvls = nccl_cost(graph, CollectiveOp::kAllReduce, CollectiveAlgorithm::kNvls,
                              CollectiveProtocol::kSimple, {1e9});
  ASSERT_TRUE(nvls);
  // 16 channels x 20 GB/s x 0.85 x 15/16 x 2 of bus bandwidth, x 8/14 of the buffer.
  EXPECT_NEAR(nvls->time().value, 25e-6 + 1 / (16 * 20 * 0.85 * 15 / 16 * 2 * 8 / 14), 1e-9);
  graph.nodes = 2;
  EXPECT_FALSE(nccl_cost(graph, CollectiveOp::kAllReduce, CollectiveAlgorithm::kNvls,
                         CollectiveProtocol::kSimple, {1e9}));
}

TEST(NcclTuning, LatencyOfOneRankPerNodeIsTheTreesNetworkLatency) {
  // 8.4 + 2 steps x 2 hops, all between nodes: 14 us each, and the plateau factor of 1.4.
  const auto cost = nccl_cost(nccl_graph(4, 4), CollectiveOp::kAllGather,
                              CollectiveAlgorithm::kRing, CollectiveProtocol::kLl, {1024});
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->latency.value, (6.6 + 3 * 5.0) * 1e-6, 1e-12);
  EXPECT_TRUE(nccl_cost(nccl_graph(4, 4), CollectiveOp::kAllGather, CollectiveAlgorithm::kPat,
                        CollectiveProtocol::kSimple, {1024}));
}

/// What NCCL's constants are added to is what the catalogue says that links of their kind take.
TEST(NcclTuning, ConstantsGoWithTheCataloguesLatencies) {
  std::size_t seen = 0;
  for (const Link& link : Catalog::builtin().links()) {
    if (link.transport == Transport::kDirect || link.kind == LinkKind::kHost) continue;
    Level level;
    level.transport = link.transport;
    level.latency = link.latency;
    const Level* levels[] = {&level};
    const NcclHop hop = nccl_hop(levels);
    EXPECT_EQ(hop.of(7), 7) << link.name;
    level.latency = link.latency * 2;
    EXPECT_DOUBLE_EQ(nccl_hop(levels).of(7), 7 + link.latency.value * 1e6) << link.name;
    level.latency = link.latency / 2;
    EXPECT_DOUBLE_EQ(nccl_hop(levels).of(7), 3.5) << link.name;
    ++seen;
  }
  EXPECT_GT(seen, 15u);
}

TEST(NcclTuning, LinesOf128BytesDoNotPassTheHost) {
  const auto offered = [](NcclGraph graph, CollectiveProtocol protocol) {
    graph.ports_at_host = true;
    return nccl_cost(graph, CollectiveOp::kAllGather, CollectiveAlgorithm::kRing, protocol, {1e6})
        .has_value();
  };
  EXPECT_FALSE(offered(nccl_graph(16, 2), CollectiveProtocol::kLl128));
  EXPECT_TRUE(offered(nccl_graph(16, 2), CollectiveProtocol::kLl));
  EXPECT_TRUE(offered(nccl_graph(16, 2), CollectiveProtocol::kSimple));
  EXPECT_TRUE(offered(nccl_graph(8, 1), CollectiveProtocol::kLl128));
}

TEST(NcclTuning, AMessageInsideANodeWaitsForNoAnswer) {
  // 6.6 us to begin and one hop of 0.6 us over NVLink.
  const auto send = nccl_choices(nccl_graph(2, 1), CollectiveOp::kSendRecv, {1});
  ASSERT_EQ(send.size(), 1U);
  EXPECT_NEAR(send[0].cost.latency.value, 7.2e-6, 1e-12);
}

TEST(NcclTuning, ExchangesLeaveThroughEveryPortHoweverSlowTheRings) {
  NcclGraph graph = nccl_graph(144, 2);
  graph.rank_inside_gbs = 800;
  graph.rank_outside_gbs = 50;
  const auto direct = nccl_choices(graph, CollectiveOp::kAllToAll, {144e6});
  ASSERT_EQ(direct.size(), 1U);
  EXPECT_NEAR(direct[0].cost.transfer.value, 72e6 / 50e9,
              1e-12);  // half of it goes to the other node
  EXPECT_NEAR(nccl_choices(graph, CollectiveOp::kSendRecv, {1e9})[0].cost.transfer.value, 1 / 50.0,
              1e-9);
}

}  // namespace
}  // namespace flopcast::network
