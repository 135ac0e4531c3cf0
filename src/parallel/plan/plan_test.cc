// Plans: what is refused and why, how layers are dealt, what weights cost.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "flopcast/parallel.h"

namespace flopcast::parallel {
namespace {

Model model_named(const std::string& name) { return *load_model(name); }

Plan plan_405b() {
  Plan plan;
  plan.tp = 8;
  plan.cp = 2;
  plan.pp = 8;
  plan.dp = 4;
  plan.vpp = 8;
  plan.schedule = ScheduleKind::kInterleaved;
  plan.sequence_parallel = true;
  plan.global_batch = 128;
  plan.sequence = 8192;
  return plan;
}

/// The one reason, as people read it.
std::string reason(const Plan& plan, const Model& model, unsigned chips = 0) {
  const std::vector<Diagnostic> problems = plan_problems(plan, model, chips);
  EXPECT_EQ(plan_possible(plan, model, chips), problems.empty());
  EXPECT_LE(problems.size(), 1u) << problems.back().text();
  return problems.empty() ? "" : problems[0].text();
}

TEST(Plan, PossibleOnes) {
  EXPECT_EQ(reason(plan_405b(), model_named("llama-3.1-405b"), 512), "");
  EXPECT_EQ(reason({}, model_named("gpt2")), "");
}

TEST(Plan, ReasonsSayWhatToDo) {
  const Model llama = model_named("llama-3.1-405b");
  const auto with = [&](auto change, unsigned chips = 0) {
    Plan plan = plan_405b();
    change(plan);
    return reason(plan, llama, chips);
  };
  EXPECT_EQ(with([](Plan&) {}, 500),
            "world-size: tp 8 x cp 2 x pp 8 x dp 4 makes 512 chips, not 500 (use a multiple of 128 "
            "chips)");
  EXPECT_EQ(with([](Plan&) {}, 1024),
            "world-size: tp 8 x cp 2 x pp 8 x dp 4 makes 512 chips, not 1024 (set dp to 8)");
  EXPECT_EQ(with([](Plan& p) { p.tp = 3, p.sequence_parallel = false; }),
            "tensor-model-parallel-size: number of heads 128 is not divisible by 3 (use 1, 2, 4, "
            "8, 16, 32, 64, 128)");
  EXPECT_EQ(with([](Plan& p) { p.global_batch = 2; }),
            "global-batch-size: global batch 2 is smaller than micro batch 1 x dp 4 (use at least "
            "4, or fewer replicas)");
  EXPECT_EQ(with([](Plan& p) { p.global_batch = 130; }),
            "global-batch-size: global batch 130 is not divisible by micro batch 1 x dp 4 (use a "
            "multiple of 4)");
  EXPECT_EQ(with([](Plan& p) { p.global_batch = 36; }),
            "global-batch-size: 9 microbatches are not a multiple of 8 stages (use a multiple of "
            "32)");
  EXPECT_EQ(with([](Plan& p) { p.ep = 2; }),
            "expert-model-parallel-size: llama-3.1-405b has no experts (use 1)");
  // Embedding and loss may have a stage of their own: 128 stages for 126 layers.
  EXPECT_EQ(with([](Plan& p) { p.vpp = 16; }), "");
  EXPECT_EQ(with([](Plan& p) { p.vpp = 32; }),
            "pipeline-model-parallel-size: 256 stages for 126 layers (use at most 128 stages)");
  EXPECT_EQ(with([](Plan& p) { p.schedule = ScheduleKind::kOneFOneB; }),
            "num-virtual-stages-per-pipeline-rank: 1f1b with 8 virtual stages (use the interleaved "
            "schedule, or 1)");
  EXPECT_NE(with([](Plan& p) { p.sequence = 8190; }).find("sequence length 8190"),
            std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.stage_layers = {126}; }).find("126 on 1"), std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.tp2 = 2; }).find("tp2 2 with 1-D"), std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.shard = 3; }).find("dp x cp 8"), std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.flash_attention = false; }).find("fused attention"),
            std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.dp = 0; }).find("zero"), std::string::npos);
  EXPECT_NE(with([](Plan& p) { p.tp = 1u << 31, p.dp = 1u << 31; }).find("large"),
            std::string::npos);
}

TEST(Plan, KvHeadsMayBeRepeatedOrCut) {
  const Model llama = model_named("llama-3-70b");  // 64 heads, 8 kv heads
  Plan plan;
  for (const unsigned tp : {1u, 8u, 16u}) {
    plan.tp = tp;
    EXPECT_EQ(reason(plan, llama), "") << tp;
  }
}

TEST(Plan, SeveralReasonsAtOnce) {
  Plan plan = plan_405b();
  plan.tp = 3;
  plan.global_batch = 2;
  EXPECT_GE(plan_problems(plan, model_named("llama-3.1-405b"), 100).size(), 3u);
}

// Counted to the last parameter, and no cost known of a part: no plan has a price.
TEST(Plan, OfAModelWithAPartWithoutAPriceHasThatPartForAReason) {
  Model model = model_named("llama-3.1-8b");
  EXPECT_TRUE(plan_problems({}, model, 1).empty());
  model.unpriced = {"an encoder that its layers attend to"};
  const std::vector<Diagnostic> problems = plan_problems({}, model, 1);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].where, "model");
  EXPECT_NE(problems[0].what.find("an encoder that its layers attend to"), std::string::npos);
}

TEST(Plan, ExpertLimits) {
  const Model model = model_named("mixtral-8x7b");
  Plan plan;
  plan.tp = 2;
  plan.dp = 8;
  plan.global_batch = 64;
  plan.sequence = 4096;
  EXPECT_NE(reason(plan, model).find("need sequence parallelism"), std::string::npos);
  plan.sequence_parallel = true;
  plan.ep = 8;
  plan.etp = 1;
  EXPECT_EQ(reason(plan, model), "");
  EXPECT_EQ(plan.expert_dp(), 2u);
  plan.ep = 16;
  EXPECT_NE(reason(plan, model).find("number of experts 8"), std::string::npos);
  plan.ep = 8;
  plan.etp = 4;
  EXPECT_NE(reason(plan, model).find("ep 8 x etp 4 does not divide"), std::string::npos);
}

TEST(Plan, OnlyModelsOfTokensPredictMore) {
  Plan plan;
  plan.mtp_layers = 1;
  EXPECT_EQ(reason(plan, model_named("llama-3-8b")), "");
  EXPECT_NE(reason(plan, model_named("vit-base")).find("predicts no tokens"), std::string::npos);
  plan.mtp_layers = 17;
  EXPECT_NE(reason(plan, model_named("llama-3-8b")).find("0 to 16"), std::string::npos);
}

TEST(Plan, LearnedPositionsEnd) {
  Plan plan;
  plan.sequence = 4096;
  EXPECT_NE(reason(plan, model_named("gpt-3-175b")).find("2048 learned positions"),
            std::string::npos);
}

TEST(Plan, FoldedSchedulesNeedTwoChunks) {
  const Model model = model_named("llama-3-70b");
  Plan plan;
  plan.pp = 4;
  plan.global_batch = 16;
  plan.schedule = ScheduleKind::kDualPipeV;
  EXPECT_NE(reason(plan, model).find("use 2"), std::string::npos);
  plan.vpp = 2;
  EXPECT_EQ(reason(plan, model), "");
  plan.global_batch = 7;
  EXPECT_NE(reason(plan, model).find("fewer than 2 x 4"), std::string::npos);
}

// --- Stages -------------------------------------------------------------------------------------

TEST(Stages, AreEvenWhereTheyCanBe) {
  Plan plan;
  plan.pp = 8;
  EXPECT_EQ(layers_per_stage(plan, 96), std::vector<unsigned>(8, 12));
}

// Llama 3.1 405B has 126 layers so that embedding and loss fill the first and last of 128 places
// (Grattafiori et al., arXiv:2407.21783, section 3.3.2).
TEST(Stages, EmbeddingAndLossCountWhereLayersDoNotDivide) {
  Plan plan;
  plan.pp = 8;
  const std::vector<unsigned> split = layers_per_stage(plan, 126);
  EXPECT_EQ(split, (std::vector<unsigned>{15, 16, 16, 16, 16, 16, 16, 15}));
  plan.pp = 16;
  plan.vpp = 8;
  EXPECT_EQ(layers_per_stage(plan, 126).front(), 0u);
}

TEST(Stages, AlwaysHoldAllLayers) {
  for (unsigned layers = 1; layers < 130; layers += 7) {
    for (unsigned pp = 1; pp <= layers; ++pp) {
      for (const int flags : {0, 1, 2, 3}) {
        Plan plan;
        plan.pp = pp;
        plan.count_embedding = (flags & 1) != 0;
        plan.count_loss = (flags & 2) != 0;
        const std::vector<unsigned> split = layers_per_stage(plan, layers);
        EXPECT_EQ(split.size(), pp);
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0u), layers) << pp << " " << flags;
      }
    }
  }
}

TEST(Stages, FollowTheLayout) {
  Plan plan;
  plan.pp = 2;
  plan.stage_layers = {3, 1};
  EXPECT_EQ(layers_per_stage(plan, 4), plan.stage_layers);
}

// --- State --------------------------------------------------------------------------------------

// Rajbhandari et al. (arXiv:1910.02054), figure 1: 7.5e9 weights, 64 replicas, 120 / 31.4 / 16.6 /
// 1.88 GB in mixed precision with 16-bit gradients and Adam.
TEST(StateBytes, IsThatOfTheZeroPaper) {
  Plan plan;
  plan.dp = 64;
  plan.fp32_gradients = false;
  const ChipWeights weights{7'500'000'000, 0, 7'500'000'000, 0};
  const auto gigabytes = [&](Zero zero) {
    plan.zero = zero;
    return state_bytes(plan, weights).total().value / 1e9;
  };
  EXPECT_NEAR(gigabytes(Zero::kNone), 120, 0.01);
  EXPECT_NEAR(gigabytes(Zero::kOptimizer), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(Zero::kGradients), 16.6, 0.05);
  EXPECT_NEAR(gigabytes(Zero::kWeights), 1.88, 0.01);
}

// Megatron-LM's theoretical memory: 18 bytes a weight, 6 + 12 / dp with the distributed optimiser.
TEST(StateBytes, IsMegatronsTheoreticalMemory) {
  Plan plan;
  plan.dp = 16;
  const ChipWeights weights{1000, 0, 1000, 0};
  plan.zero = Zero::kNone;
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, 18 * 1000);
  plan.zero = Zero::kOptimizer;
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, (6 + 12 / 16.0) * 1000);
}

TEST(StateBytes, ExpertsAreShardedOverTheirOwnReplicas) {
  Plan plan;
  plan.dp = 16;
  plan.ep = 8;
  const ChipWeights weights{0, 1000, 0, 1000};
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, (6 + 12 / 2.0) * 1000);
}

TEST(StateBytes, WhatFlagsOfAnOptimizerSave) {
  ChipWeights weights;
  weights.dense = weights.dense_trainable = 1000;
  Plan plan;
  plan.zero = Zero::kNone;
  const auto bytes = [&] { return state_bytes(plan, weights).total().value; };
  EXPECT_DOUBLE_EQ(bytes(), 18 * 1000);
  plan.fp32_gradients = false;  // --grad-reduce-in-bf16
  EXPECT_DOUBLE_EQ(bytes(), 16 * 1000);
  plan.split_master = true;  // --use-precision-aware-optimizer
  EXPECT_DOUBLE_EQ(bytes(), 14 * 1000);
  plan.moment_bytes = 4;  // both moments in bf16
  EXPECT_DOUBLE_EQ(bytes(), 10 * 1000);
  plan.offload = 50;
  EXPECT_DOUBLE_EQ(bytes(), 7 * 1000);
  const OptimizerTraffic traffic = optimizer_traffic(plan, weights);
  EXPECT_DOUBLE_EQ(traffic.hosted, 500);
  EXPECT_DOUBLE_EQ(traffic.to_host.value, 500 * 4);
}

TEST(StateBytes, AddingGradientsUpReadsThemAndTheSum) {
  ChipWeights weights;
  weights.dense = weights.dense_trainable = 1000;
  Plan plan;
  plan.global_batch = 8;
  const auto bytes = [&] {
    const OptimizerTraffic traffic = accumulation_traffic(plan, weights);
    return (traffic.read + traffic.written).value;
  };
  EXPECT_DOUBLE_EQ(bytes(), (2 + 4 + 4) * 1000);  // main_grad.add_(grad)
  plan.fp32_gradients = false;
  EXPECT_DOUBLE_EQ(bytes(), (2 + 2 + 2) * 1000);
  plan.dp = 8;  // one microbatch: nothing to add to
  EXPECT_DOUBLE_EQ(bytes(), 0);
  plan.global_batch = 16;
  plan.zero = Zero::kGradients;
  EXPECT_DOUBLE_EQ(bytes(), 6 * 1000 / 8.0);
}

TEST(StateBytes, GatherIn8BitsIsASetting) {
  ChipWeights weights;
  weights.dense = weights.dense_trainable = 1000;
  Plan plan;
  plan.dp = 8;
  plan.precision = Precision::kFp8;
  EXPECT_DOUBLE_EQ(weight_transfers(plan, weights).before_forward.at(0).size.value, 1000);
  plan.fp8_gather = false;
  EXPECT_DOUBLE_EQ(weight_transfers(plan, weights).before_forward.at(0).size.value, 2000);
}

TEST(StateBytes, FrozenWeightsHaveNoGradients) {
  Plan plan;
  const ChipWeights weights{1000, 0, 10, 0};
  const StateBytes state = state_bytes(plan, weights);
  EXPECT_DOUBLE_EQ(state.weights.value, 2000);
  EXPECT_DOUBLE_EQ(state.gradients.value, 40);
  EXPECT_DOUBLE_EQ(state.optimizer.value, 120);
}

// FSDP2: fp32 shards, gradients and both moments.
TEST(StateBytes, FullyShardedWeightsAreTheMaster) {
  Plan plan;
  plan.dp = 8;
  plan.zero = Zero::kWeights;
  EXPECT_DOUBLE_EQ(state_bytes(plan, {1000, 0, 1000, 0}).total().value, 16 * 1000 / 8.0);
}

// torchtitan under a pipeline: whole fp32 gradients wait for the last microbatch.
TEST(StateBytes, PipelinesThatKeepWeightsKeepGradients) {
  Plan plan;
  plan.dp = 8, plan.pp = 2, plan.global_batch = 32;
  plan.zero = Zero::kWeights;
  plan.reshard = false;
  const ChipWeights weights{1000, 0, 1000, 0};
  EXPECT_TRUE(plan.gathers_once());
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, 16 * 1000 / 8.0 + 4 * 1000);
  plan.global_batch = 8;  // one microbatch: reduced as they come
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, 16 * 1000 / 8.0);
  plan.pp = 1;
  EXPECT_FALSE(plan.gathers_once());
}

// Of eight virtual stages two hold whole gradients: one adds up, one is on its way.
TEST(StateBytes, ShardedGradientsWaitForTheirRound) {
  Plan plan;
  plan.dp = 100, plan.pp = 4, plan.vpp = 8, plan.global_batch = 800;
  plan.zero = Zero::kGradients;
  const ChipWeights weights{1000, 0, 1000, 0};
  EXPECT_EQ(plan.passes_a_reduction(), 4);
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).gradients.value,
                   4 * 1000 / 100.0 + 4 * 1000 * 2 / 8.0);
  plan.vpp = 1;  // microbatches come one at a time
  EXPECT_EQ(plan.passes_a_reduction(), 1);
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).gradients.value, 4 * 1000 / 100.0);
  plan.vpp = 8, plan.global_batch = 200;
  EXPECT_EQ(plan.passes_a_reduction(), 2);
}

TEST(StateBytes, PureSixteenBit) {
  Plan plan;
  plan.fp32_master = plan.fp32_gradients = false;
  const ChipWeights weights{1000, 0, 1000, 0};
  EXPECT_DOUBLE_EQ(state_bytes(plan, weights).total().value, 8 * 1000);
}

std::string listed(const std::vector<Transfer>& transfers) {
  std::string text;
  for (const Transfer& transfer : transfers) {
    text += std::string(name(transfer.op)) + " " + std::string(name(transfer.group)) + " " +
            std::to_string(static_cast<long>(transfer.size.value)) + ";";
  }
  return text;
}

TEST(WeightTransfers, OfEachStage) {
  Plan plan;
  plan.dp = 8;
  const ChipWeights weights{1000, 0, 1000, 0};
  plan.zero = Zero::kNone;
  WeightTransfers all = weight_transfers(plan, weights);
  EXPECT_EQ(listed(all.after_backward), "all_reduce data 4000;");
  EXPECT_TRUE(all.before_forward.empty());
  plan.zero = Zero::kOptimizer;
  all = weight_transfers(plan, weights);
  EXPECT_EQ(listed(all.before_forward), "all_gather data 2000;");
  EXPECT_EQ(listed(all.before_backward), "");
  EXPECT_EQ(listed(all.after_backward), "reduce_scatter data 4000;");
  plan.zero = Zero::kWeights;
  all = weight_transfers(plan, weights);
  EXPECT_EQ(listed(all.before_backward), "all_gather data 2000;");
  plan.reshard = false;
  EXPECT_EQ(listed(weight_transfers(plan, weights).before_backward), "");
}

TEST(WeightTransfers, HybridShardReducesBetweenReplicas) {
  Plan plan;
  plan.dp = 16;
  plan.zero = Zero::kWeights;
  plan.shard = 8;
  const WeightTransfers all = weight_transfers(plan, {1000, 0, 1000, 0});
  EXPECT_EQ(listed(all.after_backward), "reduce_scatter shard 4000;all_reduce replica 500;");
}

TEST(WeightTransfers, NothingWithoutReplicas) {
  const WeightTransfers all = weight_transfers({}, {1000, 500, 1000, 500});
  EXPECT_TRUE(all.before_forward.empty() && all.after_backward.empty());
}

// --- Placement ----------------------------------------------------------------------------------

using Chips = std::vector<std::uint32_t>;

TEST(Placement, MegatronsOrder) {
  Plan plan;
  plan.tp = 4;
  plan.dp = 4;
  plan.pp = 2;
  const unsigned tiers[] = {8, 32};
  const Placement placement = default_placement(plan, tiers);
  EXPECT_EQ(placement.group(plan, Group::kTensor), (Chips{0, 1, 2, 3}));
  EXPECT_EQ(placement.group(plan, Group::kData), (Chips{0, 4, 8, 12}));
  EXPECT_EQ(placement.group(plan, Group::kPipeline), (Chips{0, 16}));
  EXPECT_EQ(placement.in_node(plan, Group::kData), 2u);
  EXPECT_EQ(placement.in_node(plan, Group::kPipeline), 1u);
}

TEST(Placement, ExpertGroupsAreFormedInsideAStage) {
  Plan plan;
  plan.tp = 2;
  plan.dp = 8;
  plan.ep = 4;
  plan.etp = 1;
  const unsigned tiers[] = {8, 16};
  const Placement placement = default_placement(plan, tiers);
  EXPECT_EQ(placement.group(plan, Group::kExpert), (Chips{0, 1, 2, 3}));
  EXPECT_EQ(placement.group(plan, Group::kExpertData), (Chips{0, 4, 8, 12}));
  plan.etp = 2;
  EXPECT_EQ(placement.group(plan, Group::kExpert), (Chips{0, 2, 4, 6}));
}

TEST(Placement, HybridShardAndReplicas) {
  Plan plan;
  plan.dp = 16;
  plan.shard = 8;
  const unsigned tiers[] = {8, 16};
  const Placement placement = default_placement(plan, tiers);
  EXPECT_EQ(placement.group(plan, Group::kShard), (Chips{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(placement.group(plan, Group::kReplica), (Chips{0, 8}));
}

// Subramanian et al.: ordered factorisations of the NVLink domain, one where all fits.
TEST(Placement, AllWaysToFillANode) {
  Plan plan;
  plan.tp = 4;
  plan.pp = 8;
  plan.dp = 16;
  const unsigned tiers[] = {8, 512};
  const std::vector<Placement> all = placements(plan, tiers);
  EXPECT_EQ(all.size(), 9u);  // 8 = tp {1, 2, 4} x powers of two over dp and pp
  for (const Placement& placement : all) {
    Chips seen;
    for (unsigned tp = 0; tp < 4; ++tp) {
      for (unsigned dp = 0; dp < 16; ++dp) {
        for (unsigned pp = 0; pp < 8; ++pp) seen.push_back(placement.chip({tp, 0, 0, dp, pp}));
      }
    }
    std::sort(seen.begin(), seen.end());
    Chips expected(512);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(seen, expected);
  }
  const unsigned one[] = {512};
  EXPECT_EQ(placements(plan, one).size(), 1u);
  const unsigned small[] = {8, 256};
  EXPECT_TRUE(placements(plan, small).empty());
}

TEST(Placement, MembersInANodeAreThoseOfTheGroup) {
  Plan plan;
  plan.tp = 2;
  plan.cp = 2;
  plan.dp = 8;
  plan.pp = 2;
  plan.ep = 4;
  const unsigned tiers[] = {8, 64};
  for (const unsigned etp : {0u, 1u}) {
    for (const unsigned shard : {0u, 2u, 4u}) {
      plan.etp = etp;
      plan.shard = shard;
      for (const Placement& placement : placements(plan, tiers)) {
        for (std::size_t i = 0; i < kGroups; ++i) {
          const auto group = static_cast<Group>(i);
          const Chips chips = placement.group(plan, group);
          const auto near = std::count_if(chips.begin(), chips.end(), [](auto c) { return c < 8; });
          EXPECT_EQ(placement.in_node(plan, group), near) << name(group) << " shard " << shard;
        }
      }
    }
  }
}

TEST(Placement, ThreeTiers) {
  Plan plan;
  plan.tp = 2;
  plan.dp = 4;
  const unsigned tiers[] = {2, 4, 8};
  const std::vector<Placement> all = placements(plan, tiers);
  EXPECT_EQ(all.size(), 3u);  // tp in the node, the pod, or across pods
}

TEST(Placement, NumbersThroughWhereNodesAreNotFilled) {
  Plan plan;
  plan.tp = 4;
  plan.dp = 3;
  const unsigned tiers[] = {8, 16};
  const Placement placement = default_placement(plan, tiers);
  EXPECT_EQ(placement.group(plan, Group::kData), (Chips{0, 4, 8}));
  EXPECT_EQ(placement.in_node(plan, Group::kData), 2u);
  EXPECT_EQ(placements(plan, tiers).size(), 1u);
}

}  // namespace
}  // namespace flopcast::parallel
