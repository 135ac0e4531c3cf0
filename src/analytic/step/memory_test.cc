// Peak memory against totals worked out by hand, and against what published runs report.
#include <gtest/gtest.h>

#include "analytic/step/training_state.h"
#include "flopcast/analytic.h"

namespace flopcast::analytic {
namespace {

constexpr double kGiB = 1073741824;

StageMemory fullest(const std::string& model, const std::string& cluster,
                    const std::string& software, const Plan& plan) {
  TrainingOptions options;
  options.software = software;
  auto made = TrainingModel::make(*load_model(model), *Catalog::builtin().cluster(cluster),
                                  Catalog::builtin(), options);
  EXPECT_TRUE(made) << made.error().text();
  const auto estimate = made->estimate(plan);
  EXPECT_TRUE(estimate) << estimate.error().text();
  return estimate->memory();
}

// torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, table 1: Llama 3.1 8B on 8 H100s, FSDP,
// selective recompute "op", no compiler: 82.4 GiB reserved by PyTorch, context not counted.
TEST(PeakMemory, OfFsdpWithAnEagerLoss) {
  Plan plan;
  plan.dp = 8, plan.micro_batch = 2, plan.global_batch = 16, plan.sequence = 8192;
  plan.zero = Zero::kWeights;
  plan.recompute = Recompute::kSelective;
  plan.recompute_modules = kRecomputeOp;
  const StageMemory memory = fullest("llama-3-8b", "8 x h100", "fsdp", plan);
  const double total = (memory.total() - memory.buffers).value;

  const double tokens = 2 * 8192, h = 4096, gd = 1024, f = 14336, heads = 32, vocab = 128256;
  const double layer = 2 * h * h + 2 * h * gd + 3 * h * f + 2 * h;
  const double weights = 32 * layer + 2 * vocab * h + h;
  const double state = 16 * weights / 8;  // fp32 shards, gradients and two moments
  const double layers = 32 * tokens * (2 * (4 * h + gd + f) + 4 * heads);
  const double head = tokens * (2 * 2 * h + 4 * vocab);  // inputs of norm and product, logits
  EXPECT_NEAR((memory.weights + memory.gradients + memory.optimizer).value / state, 1, 1e-9);
  EXPECT_NEAR(memory.activations.value / (layers + head), 1, 1e-9);
  const double loss = (12 - 4) * tokens * vocab;
  const double ends = 2 * (2 * vocab * h + h);  // whole all the step
  const double last = 2 * 2 * layer;            // and the buffer that it was gathered in
  EXPECT_NEAR(memory.working.value / (loss + ends + last), 1, 0.002);
  // The hole of 16-bit logits between wider ones, and the ends' buffer on its stream; small ones of layers.
  const double holes = 2 * tokens * vocab + ends;
  EXPECT_GT(memory.allocator.value, holes);
  EXPECT_LT(memory.allocator.value, 1.2 * holes);
  EXPECT_NEAR(total / (82.4 * kGiB), 1, 0.05);
}

// The same page, table 6: Llama 3.1 405B on 512 H100s, tp 8, pp 8, cp 4, full recompute, 8 bits, compiled: 77.1 GiB. Its first
// stage is fullest while a layer runs: gathered inputs of products, gradients, and gradients on their way in fp32.
TEST(PeakMemory, OfFsdpUnderAPipeline) {
  Plan plan;
  plan.tp = 8, plan.pp = 8, plan.cp = 4, plan.dp = 2, plan.global_batch = 16;
  plan.sequence = 131072, plan.sequence_parallel = true;
  plan.precision = Precision::kFp8, plan.recompute = Recompute::kFull;
  plan.zero = Zero::kWeights, plan.reshard = false;
  const StageMemory memory = fullest("llama-3.1-405b", "64 x dgx-h100", "fsdp-compiled-2024", plan);
  const double total = (memory.total() - memory.buffers).value;
  EXPECT_NEAR(total / (77.1 * kGiB), 1, 0.08);

  const double t = 32768, u = t / 8, h = 16384, f = 53248, gd = 1024, vocab = 128256;
  const double layer = (2 * h * h + 2 * h * gd + 3 * h * f) / 8 + 2 * h;
  const double weights = 15 * layer + vocab * h / 8;  // the first of 126 layers
  const double kept =  // norms' inputs, whole inputs of products, queries, keys, values, statistics
      2 * (2 * u * h + 2 * t * h + (2 * t * h + 2 * t * gd) / 8 + 3 * t * f / 8) + 4 * t * 128 / 8;
  const double gradients = 2 * (u * h + t * h + t * f / 8);  // of the stream, of the last product
  EXPECT_NEAR(memory.working.value / (2 * (weights + layer) + 4 * layer + kept + gradients), 1,
              0.02);
}

// BigScience, chronicles-prequel.md: 176B on 384 A100s, tp 4, pp 12, bf16, full recompute: 59 GB on
// the nodes that hold the embedding.
TEST(PeakMemory, OfADeepspeedPipeline) {
  Plan plan;
  plan.tp = 4, plan.pp = 12, plan.dp = 8, plan.micro_batch = 2, plan.global_batch = 2048;
  plan.sequence = 2048;
  plan.recompute = Recompute::kFull;
  plan.flash_attention = false;
  const double total =
      fullest("bloom", "384 x a100-sxm-80g", "megatron-deepspeed", plan).total().value;

  const double tokens = 2 * 2048, h = 14336, heads = 112, vocab = 250880;
  // The first stage: five layers of 70 + 2, and the embedding.
  const double weights = 5 * (12 * h * h + 13 * h) / 4 + vocab * h / 4;
  const double state = (2 + 4 + 2 + 12 / 8.0) * weights;
  // Inputs of the layers and of the norm after the embedding, and what is handed on.
  const double boundaries = 12 * (5 + 1 + 1) * 2 * tokens * h;
  const double layer = tokens * h * (8 + (2 + 6 + 16) / 4.0) + 2 * tokens * 2048 * heads / 4;
  // The stream's, and of the last product, whose dropout is done.
  const double gradients = tokens * h * (2 + 2 + 2 - 1);
  const double expected = state + boundaries + layer + gradients + 1.1e10;
  EXPECT_NEAR(total / expected, 1, 0.005);
  EXPECT_NEAR(total / 59e9, 1, 0.1);
}

// With several chunks, the last stage turns each microbatch around at once: one set of logits.
TEST(PeakMemory, KeepsTheLogitsOfOneMicrobatch) {
  Plan plan;
  plan.pp = 4, plan.vpp = 8, plan.schedule = ScheduleKind::kInterleaved;
  plan.global_batch = 16, plan.sequence = 8192;
  auto made = TrainingModel::make(*load_model("llama-3-8b"),
                                  *Catalog::builtin().cluster("4 x h100"), Catalog::builtin());
  ASSERT_TRUE(made);
  const auto estimate = made->estimate(plan);
  ASSERT_TRUE(estimate);
  const OperatorGraph graph = make_operators(made->model(), execution_of(plan, made->model()));
  const StageMemory& last = estimate->stages.back().memory;
  EXPECT_GT(last.in_flight, 20U);
  EXPECT_NEAR(last.activations.value,
              last.in_flight * graph.layers[0].saved.value + graph.head.saved.value, 1);
}

// Whole weights and gradients between the microbatches of a pipeline.
TEST(PeakMemory, OfFsdpThatGathersOnce) {
  Plan plan;
  plan.pp = 2, plan.dp = 4, plan.global_batch = 16, plan.sequence = 2048;
  plan.zero = Zero::kWeights;
  plan.recompute = Recompute::kFull;
  const StageMemory always = fullest("llama-3-8b", "8 x h100", "fsdp", plan);
  plan.reshard = false;
  const StageMemory never = fullest("llama-3-8b", "8 x h100", "fsdp", plan);
  const double weights = always.weights.value;  // of its stage: 4 B each over four chips
  EXPECT_NEAR((never.gradients - always.gradients).value / (4 * weights), 1,
              1e-5);  // one norm lies on the last stage alone
  EXPECT_GT(never.working.value, 2 * weights);
}

}  // namespace
}  // namespace flopcast::analytic
