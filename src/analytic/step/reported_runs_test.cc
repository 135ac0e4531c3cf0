// Runs whose reports tell the plan: they ran in the memory of their chips, so forecasts must say that they fit.
#include <gtest/gtest.h>

#include "flopcast/analytic.h"

namespace flopcast::analytic {
namespace {

TrainingEstimate estimate_of(const std::string& model, const std::string& cluster,
                             const Plan& plan) {
  const auto made = TrainingModel::make(*load_model(model), *Catalog::builtin().cluster(cluster),
                                        Catalog::builtin());
  EXPECT_TRUE(made) << made.error().text();
  const auto estimate = made->estimate(plan);
  EXPECT_TRUE(estimate) << estimate.error().text();
  return *estimate;
}

constexpr double kEightyGib = 80.0 * (1 << 30);

// The Llama 3 Herd of Models (arXiv:2407.21783), section 3.3 and table 4: TP 8, PP 16, DP 128, interleaved stages, gradients
// sharded, no recomputation; MFU 41 %.
TEST(ReportedRuns, Llama405bFitsOn16384H100) {
  Plan plan;
  plan.tp = 8, plan.pp = 16, plan.dp = 128, plan.vpp = 8;
  plan.schedule = ScheduleKind::kInterleaved;
  plan.sequence_parallel = true;
  plan.zero = Zero::kGradients;
  plan.global_batch = 2048, plan.sequence = 8192;
  const TrainingEstimate estimate = estimate_of("llama-3.1-405b", "2048 x dgx-h100", plan);
  EXPECT_LT(estimate.memory().total().value, kEightyGib);
  EXPECT_NEAR(estimate.mfu, 0.41, 0.06);
}

// DeepSeek-V3 Technical Report (arXiv:2412.19437), sections 3.1 to 3.3 and 4.2: PP 16, EP 64, ZeRO 1, DualPipe, FP8 in
// blocks, norms, activations and up-projections computed again; 180,000 GPU hours a trillion tokens: 3.1 M tokens/s.
TEST(ReportedRuns, DeepSeekV3FitsOn2048H800) {
  Plan plan;
  plan.pp = 16, plan.vpp = 2, plan.dp = 128, plan.ep = 64;
  plan.schedule = ScheduleKind::kDualPipeV;
  plan.precision = Precision::kFp8Block;
  plan.recompute = Recompute::kSelective;
  plan.recompute_modules = kRecomputeNorm | kRecomputeActivation | kRecomputeLatentUp;
  plan.global_batch = 15360, plan.sequence = 4096;
  const TrainingEstimate estimate = estimate_of("deepseek-v3", "256 x hgx-h800", plan);
  EXPECT_LT(estimate.memory().total().value, kEightyGib);
  EXPECT_NEAR(15360 * 4096 / estimate.step.value / 3.1e6, 1, 0.2);
}

// torchtitan, train_configs/llama3_8b.toml: Llama 3 8B by FSDP on 8 H100 of 80 GB, a sequence of 8,192 tokens a chip, every second
// product computed again.
TEST(ReportedRuns, Llama8bFitsOnOneNode) {
  Plan plan;
  plan.dp = 8, plan.global_batch = 8, plan.sequence = 8192;
  plan.zero = Zero::kWeights;
  plan.recompute = Recompute::kSelective;
  plan.recompute_modules = kRecomputeSecondProduct;
  const TrainingEstimate estimate = estimate_of("llama-3-8b", "dgx-h100", plan);
  EXPECT_LT(estimate.memory().total().value, kEightyGib);
}

}  // namespace
}  // namespace flopcast::analytic
