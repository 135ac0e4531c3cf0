#include "flopcast/mapping/parts.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

TEST(MappingParts, APassGoesOverEveryDimensionOfItsGroup) {
  MappingSystem system;
  system.dimensions = {{DimensionKind::kRing, 4, {50e9}, {1e-6}},
                       {DimensionKind::kRing, 2, {10e9}, {1e-6}}};
  const MappingShape shape{{1, 1, 8}, {{1, 1, 4}, {1, 1, 2}}};
  // 3/4 of 1 GB at 50 GB/s, then half of a quarter at 10.
  const Seconds time = group_pass_time(system, shape, Parallelism::kData, Bytes{1e9});
  EXPECT_NEAR(time.value, 0.015 + 0.0125, 1e-12);
}

TEST(MappingParts, PassesHaveFewerIdealsThanTheirMixture) {
  const auto workload = load_dataflow("gpt3-1t");
  ASSERT_TRUE(workload);
  const auto apart = order_ideals(workload->graph, false, 50'000);
  const auto mixed = order_ideals(workload->graph, true, 50'000);
  ASSERT_TRUE(apart && mixed);
  EXPECT_LT(*apart, *mixed);
  EXPECT_FALSE(order_ideals(workload->graph, true, 10));
}

TEST(MappingParts, ShardingMovesBytes) {
  const auto workload = load_dataflow("gpt3-175b");
  ASSERT_TRUE(workload);
  const Result<Bytes> bytes = published_sharding_bytes(*workload);
  ASSERT_TRUE(bytes);
  EXPECT_GT(bytes->value, 0);
}

}  // namespace
}  // namespace flopcast
