#include "mapping/sharding/group_network.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flopcast::mapping {
namespace {

using Factors = std::array<unsigned, kParallelisms>;

struct Group {
  MappingSystem system;
  MappingShape shape;

  Group& dimension(DimensionKind kind, unsigned size, double gigabytes, Factors factors,
                   double latency_s = 0) {
    system.dimensions.push_back({kind, size, {gigabytes * 1e9}, {latency_s}});
    shape.factors.push_back(factors);
    for (std::size_t p = 0; p < kParallelisms; ++p) shape.degree[p] *= factors[p];
    return *this;
  }
  GroupNetwork of(Parallelism parallelism, bool latency = false) const {
    return GroupNetwork(system, shape, parallelism, latency);
  }
};

using enum DimensionKind;

TEST(GroupNetwork, TakesTheWorkedTimeOnARing) {
  const Group group = Group().dimension(kRing, 8, 50, {8, 1, 1});
  const GroupNetwork network = group.of(Parallelism::kTensor);
  EXPECT_EQ(network.size(), 8U);
  EXPECT_NEAR(2 * network.pass_s(104'857'600), 3'670'016e-9, 1e-15);
  EXPECT_EQ(network.pass_wire_bytes(104'857'600), 91'750'400);
}

TEST(GroupNetwork, PassesAreOfEachKindsClosedForm) {
  const double bytes = 8e9;
  const auto pass_s = [&](DimensionKind kind) {
    return Group().dimension(kind, 4, 2, {4, 1, 1}).of(Parallelism::kTensor).pass_s(bytes);
  };
  EXPECT_DOUBLE_EQ(pass_s(kRing), 3);
  EXPECT_DOUBLE_EQ(pass_s(kSwitch), 3);
  EXPECT_DOUBLE_EQ(pass_s(kFullyConnected), 1);
  const auto all_to_all_s = [&](DimensionKind kind) {
    return Group().dimension(kind, 8, 2, {8, 1, 1}).of(Parallelism::kTensor).all_to_all_s(bytes);
  };
  EXPECT_DOUBLE_EQ(all_to_all_s(kRing), 4);
  EXPECT_DOUBLE_EQ(all_to_all_s(kSwitch), 3.5);
  EXPECT_DOUBLE_EQ(all_to_all_s(kFullyConnected), 0.5);
}

TEST(GroupNetwork, GoesDimensionByDimensionOnWhatIsLeft) {
  // 3/4 of 8 GB at 2 GB/s; then 1/2 of the 2 GB left at 1 GB/s.
  const Group inner = Group().dimension(kRing, 4, 2, {4, 1, 1}).dimension(kSwitch, 2, 1, {2, 1, 1});
  EXPECT_DOUBLE_EQ(inner.of(Parallelism::kTensor).pass_s(8e9), 3 + 1);
  EXPECT_EQ(inner.of(Parallelism::kTensor).bandwidth(), 1e9);
  // The slow dimension first moves four times as much through it.
  const Group outer = Group().dimension(kSwitch, 2, 1, {2, 1, 1}).dimension(kRing, 4, 2, {4, 1, 1});
  EXPECT_DOUBLE_EQ(outer.of(Parallelism::kTensor).pass_s(8e9), 4 + 1.5);
  // The slowest dimension of an all-to-all: 4/8 of 8 GB at 2 GB/s, or half of it at 1 GB/s.
  EXPECT_DOUBLE_EQ(outer.of(Parallelism::kTensor).all_to_all_s(8e9), 4);
}

TEST(GroupNetwork, SpansOnlyItsOwnShareOfADimension) {
  const Group group = Group().dimension(kRing, 8, 4, {2, 4, 1}).dimension(kRing, 3, 1, {1, 1, 3});
  EXPECT_EQ(group.of(Parallelism::kTensor).size(), 2U);
  EXPECT_EQ(group.of(Parallelism::kPipeline).size(), 4U);
  EXPECT_EQ(group.of(Parallelism::kData).size(), 3U);
  EXPECT_DOUBLE_EQ(group.of(Parallelism::kTensor).pass_s(8e9), 1);
  EXPECT_DOUBLE_EQ(group.of(Parallelism::kPipeline).send_s(8e9), 2);
  EXPECT_EQ(group.of(Parallelism::kData).bandwidth(), 1e9);
}

TEST(GroupNetwork, CountsAllLinksOfAFullyConnectedDimension) {
  const Group group =
      Group().dimension(kFullyConnected, 5, 1, {5, 1, 1}).dimension(kRing, 2, 3, {2, 1, 1});
  EXPECT_EQ(group.of(Parallelism::kTensor).bandwidth(), 3e9);
  EXPECT_EQ(group.of(Parallelism::kTensor).link_bandwidth(), 1e9);
}

TEST(GroupNetwork, OfOneSendsNothing) {
  const Group group = Group().dimension(kRing, 8, 4, {1, 8, 1}, 1e-6);
  const GroupNetwork network = group.of(Parallelism::kTensor, true);
  EXPECT_EQ(network.size(), 1U);
  EXPECT_EQ(network.pass_s(1e9), 0);
  EXPECT_EQ(network.pass_wire_bytes(1e9), 0);
  EXPECT_EQ(network.all_to_all_s(1e9), 0);
  EXPECT_EQ(network.send_s(1e9), 0);
  EXPECT_TRUE(std::isinf(network.bandwidth()));
}

TEST(GroupNetwork, PaysForHopsOnlyWhereAsked) {
  const Group group = Group().dimension(kRing, 4, 2, {4, 1, 1}, 1e-3);
  EXPECT_DOUBLE_EQ(group.of(Parallelism::kTensor, false).pass_s(8e9), 3);
  EXPECT_DOUBLE_EQ(group.of(Parallelism::kTensor, true).pass_s(8e9), 3 + 3e-3);
  EXPECT_DOUBLE_EQ(group.of(Parallelism::kTensor, true).send_s(2e9), 1 + 1e-3);
  // Where nothing is sent nothing is waited for.
  EXPECT_EQ(group.of(Parallelism::kTensor, true).pass_s(0), 0);
  EXPECT_EQ(group.of(Parallelism::kTensor, true).all_to_all_s(0), 0);
}

TEST(SystemAllToAll, IsThatOfTheSlowestDimension) {
  const Group torus = Group().dimension(kRing, 8, 1, {1, 1, 8}).dimension(kRing, 16, 1, {1, 1, 16});
  EXPECT_DOUBLE_EQ(system_all_to_all_s(torus.system, 1e9, true), 4);   // 16 / 4
  EXPECT_DOUBLE_EQ(system_all_to_all_s(torus.system, 1e9, false), 2);  // 16 / 8
  const Group dgx =
      Group().dimension(kFullyConnected, 8, 1, {1, 1, 8}).dimension(kSwitch, 128, 1, {1, 1, 128});
  EXPECT_DOUBLE_EQ(system_all_to_all_s(dgx.system, 1e9, true), 2);  // a group of 8, over 4
  EXPECT_DOUBLE_EQ(system_all_to_all_s(dgx.system, 1e9, false), 127.0 / 128);
}

}  // namespace
}  // namespace flopcast::mapping
