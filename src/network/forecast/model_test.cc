#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "flopcast/network/fit.h"
#include "network/collective/levels.h"
#include "network/collective/systems.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;

CollectiveModel model_of(const std::string& cluster) {
  const Result<Cluster> found = Catalog::builtin().cluster(cluster);
  EXPECT_TRUE(found) << found.error().text();
  Result<CollectiveModel> model = CollectiveModel::make(*found);
  EXPECT_TRUE(model);
  return std::move(*model);
}

CollectiveTime time_of(const CollectiveModel& model, const CollectiveQuery& query) {
  const Result<CollectiveTime> time = model.time(query);
  EXPECT_TRUE(time) << time.error().text();
  return time ? *time : CollectiveTime();
}

CollectiveQuery query_of(Op op, double bytes, CollectiveSource source = CollectiveSource::kBest) {
  CollectiveQuery query;
  query.op = op;
  query.size = {bytes};
  query.source = source;
  return query;
}

void expect_parts_add_up(const CollectiveTime& time) {
  double sum = 0;
  for (const CollectiveTime::Part& part : time.parts) {
    EXPECT_GE(part.latency.value, 0);
    EXPECT_GE(part.transfer.value, 0);
    sum += (part.latency + part.transfer).value;
  }
  EXPECT_NEAR(sum, time.time.value, 1e-9 * time.time.value);
}

TEST(CollectiveModel, AMeasuredNodeAnswersFromItsTable) {
  const CollectiveModel model = model_of("dgx-h100");
  const CollectiveTime time = time_of(model, query_of(Op::kAllReduce, 512 << 20));
  EXPECT_EQ(time.basis, Basis::kTable);
  EXPECT_NE(time.source.find("h100_sxm all_reduce, 8 ranks on 1 node, NCCL"), std::string::npos);
  // Published: 2.1 to 2.7 ms for 512 MiB with NCCL 2.27 and 2.29.
  EXPECT_GT(time.time.value, 2e-3);
  EXPECT_LT(time.time.value, 2.8e-3);
  EXPECT_LT(time.low, time.time);
  EXPECT_GT(time.high, time.time);
  EXPECT_FALSE(time.candidates.empty());
  expect_parts_add_up(time);
}

TEST(CollectiveModel, MoreNodesThanWereMeasuredRestOnNcclsConstants) {
  const CollectiveModel model = model_of("64 x dgx-h100");
  const CollectiveTime time = time_of(model, query_of(Op::kAllReduce, 1e9));
  EXPECT_EQ(time.basis, Basis::kAssumed);
  EXPECT_NE(time.source.find("NCCL"), std::string::npos);
  // 2 x 511/512 GB at no more than 8 NICs of 50 GB/s, and no less than half of that.
  EXPECT_GT(time.time.value, 2 / 400.0);
  EXPECT_LT(time.time.value, 2 / 150.0);
  expect_parts_add_up(time);
}

TEST(CollectiveModel, AMeasuredFabricAnswersForNodeCountsInBetween) {
  const CollectiveModel model = model_of("24 x perlmutter-node");
  const CollectiveTime time = time_of(model, query_of(Op::kAllGather, 1 << 30));
  EXPECT_EQ(time.basis, Basis::kFitted);
  EXPECT_NE(time.source.find("perlmutter"), std::string::npos);
  EXPECT_NEAR(time.time.value, 15.8e-3, 1.6e-3);  // 16 and 32 nodes: 15.5 and 15.4 ms measured
}

TEST(CollectiveModel, OperationsNobodyMeasuredRestOnConstants) {
  const CollectiveModel model = model_of("dgx-h100");
  for (const Op op : {Op::kBroadcast, Op::kReduce}) {
    const CollectiveTime time = time_of(model, query_of(op, 1e8));
    EXPECT_EQ(time.basis, Basis::kAssumed) << name(op);
    EXPECT_GT(time.time.value, 1e8 / 450e9);
  }
  EXPECT_LT(time_of(model, query_of(Op::kBarrier, 0)).time.value, 100e-6);
}

TEST(CollectiveModel, EverySourceAndAlgorithmAnswersOrSaysWhyNot) {
  const CollectiveModel model = model_of("4 x dgx-h100");
  for (int op = 0; op <= static_cast<int>(Op::kBarrier); ++op) {
    for (int algorithm = 0; algorithm <= static_cast<int>(CollectiveAlgorithm::kDualNetwork);
         ++algorithm) {
      CollectiveQuery query = query_of(static_cast<Op>(op), 1e7, CollectiveSource::kAlphaBeta);
      query.algorithm = static_cast<CollectiveAlgorithm>(algorithm);
      if (query.op == Op::kSendRecv) query.ranks = {0, 8};
      const Result<CollectiveTime> time = model.time(query);
      if (time) {
        EXPECT_GT(time->time.value, 0) << name(query.op) << " " << name(query.algorithm);
        EXPECT_LT(time->time.value, 0.1) << name(query.op) << " " << name(query.algorithm);
        expect_parts_add_up(*time);
      } else {
        EXPECT_EQ(time.error().code, ErrorCode::kNoAnswer);
        EXPECT_NE(time.error().what.find(name(query.algorithm)), std::string::npos);
        EXPECT_NE(query.algorithm, CollectiveAlgorithm::kAuto) << name(query.op);
      }
    }
  }
}

/// A query of every kind of answer that there is.
std::vector<CollectiveQuery> queries_of_every_source() {
  std::vector<CollectiveQuery> queries;
  for (int source = 0; source <= static_cast<int>(CollectiveSource::kAlphaBeta); ++source) {
    for (const Op op : {Op::kAllReduce, Op::kAllToAll, Op::kBarrier, Op::kSendRecv}) {
      for (const double bytes : {0.0, 1e3, 1e7, 1e11}) {
        CollectiveQuery query = query_of(op, bytes, static_cast<CollectiveSource>(source));
        queries.push_back(query);
        query.ranks = {0, 1};
        queries.push_back(query);
        query.ranks = {0};
        queries.push_back(query);
      }
    }
  }
  queries.push_back(query_of(Op::kAllReduce, -1));
  return queries;
}

TEST(CollectiveModel, AnEstimateSaysWhatTheWholeAnswerSays) {
  for (const char* cluster : {"dgx-h100", "4 x dgx-h100", "24 x perlmutter-node", "8 x tpu-v5e"}) {
    const CollectiveModel model = model_of(cluster);
    for (const CollectiveQuery& query : queries_of_every_source()) {
      const Result<CollectiveTime> whole = model.time(query);
      const Result<CollectiveEstimate> brief = model.estimate(query);
      ASSERT_EQ(whole.ok(), brief.ok());
      if (!whole) {
        EXPECT_EQ(whole.error().text(), brief.error().text());
        continue;
      }
      EXPECT_EQ(whole->time, brief->time);
      EXPECT_EQ(whole->low, brief->low);
      EXPECT_EQ(whole->high, brief->high);
      EXPECT_EQ(whole->basis, brief->basis);
      EXPECT_EQ(whole->source, brief->source);
    }
  }
}

TEST(CollectiveModel, MembersDecideTheLevels) {
  const CollectiveModel model = model_of("8 x dgx-h100");
  CollectiveQuery query = query_of(Op::kAllReduce, 1e9, CollectiveSource::kAlphaBeta);
  query.algorithm = CollectiveAlgorithm::kRing;
  query.ranks = {8, 9, 10, 11};
  const CollectiveTime inside = time_of(model, query);
  ASSERT_EQ(inside.parts.size(), 1U);
  query.ranks = {0, 8, 16, 24};
  const CollectiveTime across = time_of(model, query);
  ASSERT_EQ(across.parts.size(), 1U);
  EXPECT_NE(inside.parts[0].level, across.parts[0].level);
  // One NIC of 50 GB/s against 18 NVLinks of 25.
  EXPECT_GT(across.time / inside.time, 5);
  query.ranks = {};
  EXPECT_EQ(time_of(model, query).parts.size(), 2U);
}

double nccl_seconds(const std::string& cluster, Op op, double bytes,
                    std::vector<std::uint32_t> ranks = {}) {
  CollectiveQuery query = query_of(op, bytes, CollectiveSource::kNcclConstants);
  query.ranks = std::move(ranks);
  return time_of(model_of(cluster), query).time.value;
}

// Bottlenecks by hand: a PCIe 4 slot of x16 lanes carries 31.508 GB/s, of which NCCL reckons 76.2 %.
TEST(CollectiveModel, ARingOverPciePassesOneSlotOfEveryCard) {
  constexpr double kBytes = 8e9, kSlot = 31.508e9 * 0.762;
  for (const unsigned cards : {2U, 4U, 8U}) {
    std::vector<std::uint32_t> ranks(cards);
    for (unsigned i = 0; i < cards; ++i) ranks[i] = i;
    const double transfer = 2.0 * (cards - 1) / cards * kBytes / kSlot;
    EXPECT_NEAR(nccl_seconds("l40s-8", Op::kAllReduce, kBytes, ranks), transfer, 0.01 * transfer);
  }
  // Two pairs of cards: a pair has two slots, the ring enters by one and leaves by the other.
  const double paired = 2.0 * 3 / 4 * kBytes / kSlot;
  EXPECT_NEAR(nccl_seconds("a100-pairwise", Op::kAllReduce, kBytes), paired, 0.01 * paired);
  // Inside a pair NVLink, not PCIe.
  EXPECT_LT(nccl_seconds("a100-pairwise", Op::kAllReduce, kBytes, {0, 1}), kBytes / (5 * kSlot));
}

TEST(CollectiveModel, AMessageFillsLinksOfItsOwnButForHeaders) {
  // 12 links of 25 GB/s between two cards, 16 of 17 flits are data; behind a switch four fifths.
  constexpr double kBytes = 8e9;
  EXPECT_NEAR(nccl_seconds("a100-pairwise", Op::kSendRecv, kBytes, {0, 1}),
              kBytes / (300e9 * 16 / 17), 0.01 * kBytes / 300e9);
  EXPECT_NEAR(nccl_seconds("dgx-a100", Op::kSendRecv, kBytes, {0, 1}), kBytes / 240e9,
              0.01 * kBytes / 240e9);
}

TEST(CollectiveModel, WhatOnePairWasMeasuredWithSaysNothingOfTwo) {
  const CollectiveModel model = model_of("a100-pairwise");
  CollectiveQuery query = query_of(Op::kSendRecv, 64e6);
  query.ranks = {2, 3};
  const CollectiveTime bridge = time_of(model, query);
  EXPECT_EQ(bridge.basis, Basis::kTable);
  query.ranks = {0, 2};
  const CollectiveTime slots = time_of(model, query);
  EXPECT_EQ(slots.basis, Basis::kAssumed);
  EXPECT_GT(slots.time.value, 64e6 / 31.508e9);
  EXPECT_LT(bridge.time.value, 64e6 / 200e9 * 1.5);
}

TEST(CollectiveModel, SlingshotsPortsSitAtTheHost) {
  const auto protocols = [](const std::string& cluster) {
    CollectiveQuery query = query_of(Op::kAllGather, 1e7, CollectiveSource::kNcclConstants);
    std::set<CollectiveProtocol> all;
    for (const auto& candidate : time_of(model_of(cluster), query).candidates) {
      all.insert(candidate.protocol);
    }
    return all;
  };
  EXPECT_FALSE(protocols("2 x perlmutter-node").contains(CollectiveProtocol::kLl128));
  EXPECT_TRUE(protocols("perlmutter-node").contains(CollectiveProtocol::kLl128));
  EXPECT_TRUE(protocols("2 x dgx-a100").contains(CollectiveProtocol::kLl128));
}

// 72 chips of a rack have 72 ports; a ring passes each chip and is as fast as one chip's links.
TEST(CollectiveModel, ExchangesBetweenRacksUseThePortOfEveryChip) {
  const auto cluster = Catalog::builtin().cluster("2 x gb300-nvl72");
  ASSERT_TRUE(cluster) << cluster.error().text();
  const auto model = CollectiveModel::make(*cluster);
  ASSERT_TRUE(model) << model.error().text();
  CollectiveQuery query;
  query.op = CollectiveOp::kAllToAll;
  query.size = {1e9};
  for (std::uint32_t chip = 0; chip < 144; ++chip) query.ranks.push_back(chip);
  const auto time = model->time(query);
  ASSERT_TRUE(time) << time.error().text();
  const double port = cluster->levels[cluster->node_levels].port_bandwidth.value;
  EXPECT_GT(time->time.value, 0.5e9 / port);
  EXPECT_LT(time->time.value, 1.3 * 0.5e9 / port);
}

TEST(CollectiveModel, RefusesImpossibleGroups) {
  const CollectiveModel model = model_of("2 x dgx-h100");
  CollectiveQuery query = query_of(Op::kAllReduce, 1e6);
  query.ranks = {0, 16};
  EXPECT_FALSE(model.time(query));
  query.ranks = {3, 3};
  EXPECT_FALSE(model.time(query));
  query.ranks = {3};
  EXPECT_EQ(time_of(model, query).time.value, 0);
  EXPECT_FALSE(model.time(query_of(Op::kSendRecv, 1e6)));
  EXPECT_FALSE(model.time(query_of(Op::kAllReduce, -1)));
}

TEST(CollectiveModel, NcclIsNotAskedAboutRingsAndTori) {
  for (const char* cluster : {"tpu-v4-pod", "sn10-8"}) {
    const CollectiveModel model = model_of(cluster);
    EXPECT_TRUE(model.time(query_of(Op::kBroadcast, 2.8e10)));
    const auto refused =
        model.time(query_of(Op::kBroadcast, 2.8e10, CollectiveSource::kNcclConstants));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoAnswer);
    EXPECT_NE(refused.error().what.find("NCCL's model knows no "), std::string::npos);
  }
}

TEST(CollectiveModel, AUsersFitComesBeforeTheCatalogues) {
  std::vector<CollectiveSample> samples;
  for (int power = 10; power < 30; ++power) {
    CollectiveSample sample;
    sample.what = {"h100_sxm", "NCCL", "9.9", "half", Op::kAllReduce, 8, 1};
    sample.size = {std::exp2(power)};
    sample.time = {1e-3 + sample.size.value / 1e9};
    samples.push_back(sample);
  }
  const CollectiveFit fit = CollectiveFit::make(samples);
  const auto cluster = Catalog::builtin().cluster("dgx-h100");
  const auto model = CollectiveModel::make(*cluster, &fit);
  ASSERT_TRUE(model);
  EXPECT_NEAR(time_of(*model, query_of(Op::kAllReduce, 1 << 20)).time.value, 2.05e-3, 0.1e-3);
}

TEST(CollectiveModelThreads, MayAskAtOnce) {
  const CollectiveModel model = model_of("dgx-h100");
  std::vector<double> times(64);
  parallel_for(times.size(), 4, [&](std::size_t i) {
    CollectiveQuery query = query_of(static_cast<Op>(i % 3), 1e6);
    for (std::uint32_t r = 0; r < 2U + i % 7; ++r) query.ranks.push_back(r);
    times[i] = time_of(model, query).time.value;
  });
  for (std::size_t i = 0; i + 21 < times.size(); ++i) EXPECT_EQ(times[i], times[i + 21]);
}

TEST(CollectiveModel, EverySystemsNodeIsInTheCatalogue) {
  for (const std::string& system : CollectiveFit::builtin().systems()) {
    const std::string node = CollectiveSystems::builtin().node_of(system);
    EXPECT_FALSE(node.empty()) << system;
    EXPECT_TRUE(Catalog::builtin().cluster(node)) << node;
  }
}

TEST(CollectiveNames, AreReadAsTheyAreWritten) {
  for (int op = 0; op <= static_cast<int>(Op::kBarrier); ++op) {
    EXPECT_EQ(parse_collective_op(name(static_cast<Op>(op))), static_cast<Op>(op));
  }
  EXPECT_EQ(parse_collective_op("AllReduce"), Op::kAllReduce);
  EXPECT_EQ(parse_collective_op("alltoall"), Op::kAllToAll);
  EXPECT_EQ(parse_collective_op("send-recv"), Op::kSendRecv);
  EXPECT_FALSE(parse_collective_op("gossip"));
  EXPECT_EQ(parse_collective_algorithm("NVLSTree"), CollectiveAlgorithm::kNvlsTree);
  EXPECT_EQ(parse_collective_source("alpha-beta"), CollectiveSource::kAlphaBeta);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Op::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Op::kAllGather, 8), 0.875);
}

}  // namespace
}  // namespace flopcast::network
