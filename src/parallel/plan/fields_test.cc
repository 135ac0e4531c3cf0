// Plans in words.
#include "flopcast/parallel/fields.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

TEST(PlanWords, NameWhatDiffersFromAPlainPlan) {
  Plan plan;
  plan.zero = Zero::kNone;
  EXPECT_EQ(plan_words(plan), "tp 1, pp 1, dp 1, micro-batch 1");
  plan.tp = 8, plan.pp = 4, plan.vpp = 2, plan.cp = 2, plan.dp = 16;
  plan.context = ContextKind::kRing;
  plan.schedule = ScheduleKind::kInterleaved;
  plan.zero = Zero::kWeights;
  plan.shard = 8;
  plan.recompute = Recompute::kFull;
  plan.recompute_layers = 3;
  plan.sequence_parallel = true;
  plan.precision = Precision::kMxfp8;
  EXPECT_EQ(plan_words(plan),
            "tp 8, cp 2, pp 4, vpp 2, dp 16, micro-batch 1, ring attention, interleaved, ZeRO 3 "
            "over 8, full recompute of 3 layers, sequence parallel, mxfp8");
}

TEST(PlanChange, NamesWhatDiffers) {
  const Plan plan;
  EXPECT_EQ(plan_change_words(plan, plan), "");
  Plan other = plan;
  other.tp = 2;
  other.zero = Zero::kWeights;
  other.sequence_parallel = true;
  EXPECT_EQ(plan_change_words(plan, other), "tp 2, zero 3, sequence_parallel true");
}

}  // namespace
}  // namespace flopcast
