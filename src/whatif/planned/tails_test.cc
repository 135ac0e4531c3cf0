#include "whatif/planned/tails.h"

#include <gtest/gtest.h>

namespace flopcast::whatif::planned {
namespace {

WholeTransfer reduced(double bytes, std::uint32_t ranks, double time) {
  return {CollectiveOp::kReduceScatter, bytes, ranks, time};
}

// The worked example of docs/theory/whatif.md.
TEST(Tails, PassesHideWhatTheRecordingShows) {
  const Tail tail({4}, {{reduced(100, 4, 10)}}, {{1, 8, 100}}, 0);
  EXPECT_DOUBLE_EQ(tail.left({1, 8, 100}, 1, ring_ratio), 4);
  EXPECT_DOUBLE_EQ(tail.left({2, 20, 100}, 1, ring_ratio), 5);
  EXPECT_DOUBLE_EQ(tail.left({2, 20, 2}, 1, ring_ratio), 10);
}

// 10 s, of which 8 s of passes hide 6 and take 0.25 of that longer: 5.5 s are left.
TEST(Tails, WhatIsHiddenSlowsThePasses) {
  const Tail tail({5.5}, {{reduced(100, 4, 10)}}, {{1, 8, 100}}, 0, 0.25);
  EXPECT_DOUBLE_EQ(tail.left({1, 8, 100}, 1, ring_ratio), 5.5);
  EXPECT_DOUBLE_EQ(tail.left({2, 20, 100}, 1, ring_ratio), 5 + 0.25 * 15);
}

TEST(Tails, OfBucketsAloneTheLimitIsNotSeen) {
  const Tail tail({2.5}, {{reduced(100, 4, 10)}}, {{1, 100, 4}}, 0.5);
  EXPECT_DOUBLE_EQ(tail.left({1, 100, 4}, 1, ring_ratio), 2.5);
  EXPECT_DOUBLE_EQ(tail.left({1, 10, 4}, 1, ring_ratio), 5);
}

TEST(Tails, TwoChipsTellBothWhereNothingElseDoes) {
  // 10 s for each second of the optimizer, half of the passes.
  const std::vector<ChipLoad> loads = {{1.2, 10, 0}, {1, 9, 0}, {1, 9, 0}};
  const Tail tail({12 - 5.0, 10 - 4.5, 10 - 4.5}, {{}, {}, {}}, loads, 0);
  EXPECT_NEAR(tail.left({2, 18, 0}, 1, ring_ratio), 20 - 9, 1e-9);
}

TEST(Tails, ChipsInProportionTellOnlyTheirRatio) {
  const std::vector<ChipLoad> loads = {{1, 8, 0}, {1, 8, 0}};
  const Tail tail({4, 4}, {{}, {}}, loads, 0);
  EXPECT_DOUBLE_EQ(tail.left({3, 100, 0}, 1, ring_ratio), 12);
}

TEST(Tails, NothingSentIsNothingLeft) {
  const Tail tail({0, 0}, {{}, {}}, {{1, 8, 0}, {1, 8, 0}}, 0);
  EXPECT_FALSE(tail.any());
  EXPECT_EQ(tail.left({1, 8, 0}, 1, ring_ratio), 0);
}

// Reduce-scatter: (p - 1) / p of the bytes are on each link.
TEST(Tails, MoreReplicasPutMoreOnTheLinks) {
  EXPECT_DOUBLE_EQ(ring_ratio(reduced(100, 2, 1), 100, 4), 1.5);
  EXPECT_DOUBLE_EQ(ring_ratio(reduced(100, 2, 1), 200, 2), 2);
  EXPECT_DOUBLE_EQ(ring_ratio(reduced(100, 2, 1), 100, 1), 0);
}

}  // namespace
}  // namespace flopcast::whatif::planned
