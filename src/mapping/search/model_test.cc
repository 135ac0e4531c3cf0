#include <gtest/gtest.h>

#include "flopcast/mapping.h"

namespace flopcast::mapping {
namespace {

TEST(MappingModel, PaperCountsOnlyWhatWasPublished) {
  const MappingModel paper = paper_model();
  EXPECT_EQ(paper.name, "paper");
  EXPECT_EQ(paper.utilisation, 0.9);
  EXPECT_EQ(paper.all_reduce_factor, 2);
  EXPECT_EQ(paper.gradient_factor, 2);
  EXPECT_TRUE(paper.published_bubble && paper.hide_gradients);
  EXPECT_FALSE(paper.shared_tensors || paper.boundary_traffic || paper.weight_traffic ||
               paper.gradient_traffic || paper.latency || paper.training_state ||
               paper.whole_left_operands || paper.reduce_scatter || paper.sharding_by_time ||
               paper.send_per_microbatch || paper.optimizer_step);
}

TEST(MappingModel, FullCountsAll) {
  const MappingModel full = full_model();
  EXPECT_EQ(full.name, "full");
  EXPECT_FALSE(full.published_bubble);
  EXPECT_TRUE(full.shared_tensors && full.boundary_traffic && full.weight_traffic &&
              full.gradient_traffic && full.latency && full.training_state &&
              full.whole_left_operands && full.reduce_scatter && full.sharding_by_time &&
              full.send_per_microbatch && full.optimizer_step);
}

TEST(MappingNames, AreDistinct) {
  EXPECT_EQ(name(DimensionKind::kSwitch), "switch");
  EXPECT_EQ(name(MappingOverlap::kComputeMemory), "compute-memory");
  EXPECT_EQ(name(Parallelism::kData), "dp");
  EXPECT_EQ(name(Sharding::kKSplitN), "k->n");
  EXPECT_EQ(name(Layout::kTokens), "tokens");
  EXPECT_EQ(name(MappingLimit::kNetwork), "network");
}

}  // namespace
}  // namespace flopcast::mapping
