#include "serving/fleet/transfers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "serving/fleet/simulation.h"
#include "serving/fleet/testing.h"

namespace flopcast::serving {
namespace {

constexpr double kTokenBytes = 40'960;

/// Two nodes of eight chips, one replica of `tp` chips on the first chips of each.
struct TwoNodes {
  TwoNodes(unsigned from_tp, unsigned to_tp, const char* text = "2 x dgx-h100") {
    const auto cluster = Catalog::builtin().cluster(text);
    EXPECT_TRUE(cluster.ok());
    topology.emplace(std::move(*Topology::build(*cluster)));
    plan.topology = &*topology;
    plan.from.tp = from_tp;
    plan.to.tp = to_tp;
    plan.first_to = 8;
    plan.bytes_per_token = kTokenBytes;
  }

  /// Least capacity and latency of the way from a chip of one node to one of the other.
  std::pair<double, Time> way(unsigned from, unsigned to) const {
    std::vector<LinkId> path;
    topology->route(from, to, 0, path);
    double rate = 1e30;
    for (const LinkId link : path) {
      rate = std::min(rate, topology->links()[link].capacity.bytes_per_second().value);
    }
    return {rate, topology->latency(path)};
  }

  std::optional<Topology> topology;
  TransferPlan plan;
};

/// The next request that arrives, and when.
std::pair<std::uint32_t, double> next_of(KvTransfers& transfers) {
  while (transfers.next() != Time::max()) {
    const Time now = transfers.next();
    if (const auto request = transfers.take(now)) return {*request, now.seconds()};
  }
  return {~0U, 0};
}

TEST(KvTransfers, EveryChipSendsItsPart) {
  for (const unsigned tp : {1U, 4U, 8U}) {
    TwoNodes nodes(tp, tp);
    KvTransfers transfers(nodes.plan);
    ASSERT_FALSE(transfers.start(7, 0, 0, 1000, Time{}).has_value());
    const auto [rate, latency] = nodes.way(0, 8);
    const double bytes = 1000 * kTokenBytes;
    const auto [request, at] = next_of(transfers);
    EXPECT_NEAR(at, bytes / rate + latency.seconds(), 1e-9) << tp;
    EXPECT_EQ(request, 7U);
    EXPECT_EQ(transfers.next(), Time::max());
  }
}

TEST(KvTransfers, LayoutsThatDifferMeetPieceByPiece) {
  // Two chips hold what four will: each sends to two, over its one way out of the node.
  TwoNodes nodes(2, 4);
  KvTransfers transfers(nodes.plan);
  ASSERT_FALSE(transfers.start(0, 0, 0, 1000, Time{}).has_value());
  const auto [rate, latency] = nodes.way(0, 8);
  EXPECT_NEAR(next_of(transfers).second, 2 * 1000 * kTokenBytes / rate + latency.seconds(), 1e-6);
}

TEST(KvTransfers, TransfersAtOnceShareLinks) {
  TwoNodes nodes(1, 1);
  KvTransfers transfers(nodes.plan);
  const auto [rate, latency] = nodes.way(0, 8);
  const double alone = 1000 * kTokenBytes / rate;
  ASSERT_FALSE(transfers.start(0, 0, 0, 1000, Time{}).has_value());
  const Time half{std::llround(alone * 0.5e12)};
  ASSERT_FALSE(transfers.start(1, 0, 0, 1000, half).has_value());
  // Half of the first is left, and takes as long as all of it would alone; the second then has the link to itself.
  ASSERT_LT(transfers.next(), Time::max());
  const auto first = next_of(transfers), second = next_of(transfers);
  EXPECT_EQ(first.first, 0U);
  EXPECT_NEAR(first.second, 1.5 * alone + latency.seconds(), 1e-9);
  EXPECT_NEAR(second.second, 2 * alone + latency.seconds(), 1e-9);
}

TEST(KvTransfers, OneThatIsDroppedMakesRoom) {
  TwoNodes nodes(1, 1);
  KvTransfers transfers(nodes.plan);
  const auto [rate, latency] = nodes.way(0, 8);
  const double alone = 1000 * kTokenBytes / rate;
  ASSERT_FALSE(transfers.start(0, 0, 0, 1000, Time{}).has_value());
  ASSERT_FALSE(transfers.start(1, 0, 0, 1000, Time{}).has_value());
  transfers.drop(0, Time{std::llround(alone * 1e12)});
  const auto [request, at] = next_of(transfers);
  EXPECT_EQ(request, 1U);
  EXPECT_NEAR(at, 1.5 * alone + latency.seconds(), 1e-9);
}

/// Prompts of 1 ms a token on one node, answers of 2 ms a token on the other.
struct SplitFleet : TwoNodes {
  SplitFleet() : TwoNodes(1, 1) {
    const auto ms = [](std::int64_t count) { return Time::from_us(1000 * count); };
    fleet.pool = plain_pool(1, {ms(1), ms(1)}, ms(5), ms(3));
    fleet.decode = plain_pool(1, {ms(1), ms(2)}, ms(50), ms(4));
    fleet.transfers = plan;
  }
  FleetRun run(const ServingWorkload& workload) const {
    const auto list = make_requests(workload);
    auto run = FleetSimulation(fleet, workload, *list, FleetOptions()).run();
    EXPECT_TRUE(run.ok()) << run.error().text();
    return std::move(*run);
  }
  FleetPlan fleet;
};

TEST(SplitFleets, ARequestPassesBothPools) {
  const SplitFleet split;
  ServingWorkload workload;
  workload.users = workload.count = 1;
  workload.input = 100;
  workload.output = 11;
  const FleetRun run = split.run(workload);
  const auto [rate, latency] = split.way(0, 8);
  const double moved = 100 * kTokenBytes / rate + latency.seconds();
  // 50 at the router, 5 there, 100 of prompt, the transfer, then 4 back for the first token; ten more tokens.
  EXPECT_EQ(run.requests[0].scheduled, Time::from_us(55'000));
  EXPECT_NEAR(run.ttft.p50.value, 0.159 + moved, 1e-9);
  EXPECT_NEAR(run.latency.p50.value, 0.159 + moved + 0.020, 1e-9);
  EXPECT_DOUBLE_EQ(run.tpot.p50.value, 0.002);
  EXPECT_EQ(run.inter_token.count, 10U);
  EXPECT_NEAR(run.inter_token.max.value, 0.002, 1e-9);
  EXPECT_EQ(run.requests[0].replica, 1U);
}

TEST(SplitFleets, AnswersOfOneTokenNeverLeaveTheFirstPool) {
  const SplitFleet split;
  ServingWorkload workload;
  workload.users = workload.count = 1;
  workload.input = 100;
  workload.output = 1;
  const FleetRun run = split.run(workload);
  EXPECT_EQ(run.requests[0].done, Time::from_us(158'000));
  EXPECT_EQ(run.requests[0].replica, 0U);
}

TEST(SplitFleets, WhoeverDiesOnTheWayIsAskedAgain) {
  // At 152 ms the prompt is computed for the first time, until 155; at 160 it is being answered.
  for (const auto& [replica, at] : {std::pair(0U, 152), std::pair(1U, 160)}) {
    SplitFleet split;
    split.fleet.faults = {{replica, Time::from_us(1000 * at), Time::from_us(200'000), true}};
    ServingWorkload workload;
    workload.users = workload.count = 1;
    workload.input = 100;
    workload.output = 11;
    const FleetRun run = split.run(workload);
    EXPECT_EQ(run.answered, 1U);
    EXPECT_EQ(run.requests[0].retries, 1);
    EXPECT_EQ(run.requests[0].scheduled, Time::from_us(255'000)) << replica;
  }
}

}  // namespace
}  // namespace flopcast::serving
