// Counts against closed forms written out by hand from the models' published shapes.
#include "serving/iteration/work.h"

#include <cmath>

#include "serving/iteration/testing.h"

namespace flopcast::serving {
namespace {

using test::deployment;

TEST(ServingWork, WeightsOfADenseModelAreItsParametersButNorms) {
  const Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  const StageWork work = stage_work(d);
  const double norms = (2 * 32 + 1) * 4096.0;
  EXPECT_DOUBLE_EQ(work.weight_bytes, 2 * (8'030'261'248.0 - norms));
}

TEST(ServingWork, WeightsOfExpertsAreItsParametersButNormsAndBiases) {
  const Deployment d = deployment("qwen3-30b-a3b", "1 x dgx-h100", "bf16", {});
  const double norms = 48 * (2 * 2048 + 2 * 128) + 2048.0;
  EXPECT_DOUBLE_EQ(stage_work(d).weight_bytes, 2 * (30'532'122'624.0 - norms));
}

TEST(ServingWork, TensorParallelChipsShareWeightsAndKeepHeadsOfKeysWhole) {
  Deployment d = deployment("llama-3.1-70b", "2 x dgx-h100", "bf16", {.tp = 16});
  const StageWork work = stage_work(d);
  // 8 heads of keys on 16 chips: one each, twice.
  EXPECT_DOUBLE_EQ(work.attention.kept_per_token, 80 * 2 * 1 * 128 * 2.0);
  EXPECT_DOUBLE_EQ(work.attention.full_flops, 80 * 2 * 4 * (128 + 128.0));
  d.layout.tp = 4;
  EXPECT_DOUBLE_EQ(stage_work(d).attention.kept_per_token, 80 * 2 * 2 * 128 * 2.0);
}

TEST(ServingWork, LatentKeysAreWholeOnEveryChip) {
  for (const unsigned tp : {1U, 8U}) {
    const Deployment d = deployment("deepseek-r1", "1 x dgx-h200", "fp8", {.tp = tp});
    const AttentionWork a = stage_work(d).attention;
    EXPECT_DOUBLE_EQ(a.kept_per_token, 61 * 576.0);  // 512 + 64 in 8 bits
    EXPECT_DOUBLE_EQ(a.full_bytes, 61 * 576.0);
    EXPECT_DOUBLE_EQ(a.full_flops, 61 * 2 * (128.0 / tp) * (576 + 512));
    EXPECT_DOUBLE_EQ(a.pair_flops, 61 * 2 * (128.0 / tp) * (192 + 128));
    EXPECT_DOUBLE_EQ(a.context_flops, 61 * 2 * 512 * (128.0 / tp) * (128 + 128));
    EXPECT_EQ(a.cap, 0);
  }
}

TEST(ServingWork, WindowsAreCapped) {
  const AttentionWork a =
      stage_work(deployment("gpt-oss-120b", "1 x dgx-h100", "fp4", {})).attention;
  EXPECT_EQ(a.cap, 128);
  EXPECT_DOUBLE_EQ(a.full_bytes, 18 * 2 * 8 * 64 * 2.0);
  EXPECT_DOUBLE_EQ(a.capped_bytes, 18 * 2 * 8 * 64 * 2.0);
  EXPECT_DOUBLE_EQ(a.kept_per_token, 18 * 2 * 8 * 64 * 2.0);
  EXPECT_DOUBLE_EQ(a.kept_per_request, 18 * 2 * 8 * 64 * 2.0 * 128);
  EXPECT_DOUBLE_EQ(a.capped_pair_flops, 18 * 2 * 64 * (64 + 64.0));
}

TEST(ServingWork, ChosenKeysAreCappedAndTheIndexerSeesAll) {
  const AttentionWork a =
      stage_work(deployment("glm-5", "1 x dgx-b200", "fp8", {.tp = 8})).attention;
  EXPECT_EQ(a.cap, 2048);
  EXPECT_DOUBLE_EQ(a.capped_bytes, 78 * 576.0);
  EXPECT_DOUBLE_EQ(a.full_bytes, 78 * (128 + 4.0));
  EXPECT_DOUBLE_EQ(a.full_flops, 78 * 2 * 32 * 128.0);  // whole on every chip
  EXPECT_DOUBLE_EQ(a.kept_per_token, 78 * (576 + 132.0));
}

// GLM-5.2: a layer that takes an earlier one's choice has no indexer, no keys of one, and attends as sparsely.
TEST(ServingWork, SharedIndexersAreNeitherRunNorKept) {
  Deployment d = deployment("glm-5", "1 x dgx-b200", "fp8", {.tp = 8});
  const StageWork all = stage_work(d);
  for (std::size_t kind = 0; kind < d.model.kinds.size(); ++kind) {
    d.model.kinds[kind].attention.shares_index = d.model.kinds[kind].experts.count > 0;
  }
  const StageWork few = stage_work(d);
  EXPECT_DOUBLE_EQ(few.attention.indexers, 3);
  EXPECT_DOUBLE_EQ(few.attention.capped_bytes, all.attention.capped_bytes);
  EXPECT_DOUBLE_EQ(few.attention.kept_per_token, 78 * 576.0 + 3 * 132.0);
  EXPECT_DOUBLE_EQ(few.attention.full_flops, all.attention.full_flops * 3 / 78);
  const double indexer = 2048 * 32.0 * 128 + 2 * 6144 * (128 + 32.0);  // queries in 8 bits
  EXPECT_NEAR(all.weight_bytes - few.weight_bytes, 75 * indexer, 1e-3 * 75 * indexer);
}

TEST(ServingWork, KeysOfEarlierLayersAreReadAndKeptOnce) {
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  const StageWork own = stage_work(d);
  for (Layer& layer : d.model.kinds) layer.attention.shares_keys = true;
  const StageWork shared = stage_work(d);
  EXPECT_DOUBLE_EQ(shared.attention.full_bytes, own.attention.full_bytes);
  EXPECT_DOUBLE_EQ(shared.attention.kept_per_token, 0);
  EXPECT_DOUBLE_EQ(own.weight_bytes - shared.weight_bytes, 2 * 32 * 4096.0 * 2 * 8 * 128);
}

TEST(ServingWork, OtherStatesAreKeptPerRequest) {
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  Recurrence mamba{.kind = RecurrenceKind::kSelective,
                   .heads = 8192,
                   .key_heads = 1,
                   .key_dim = 16,
                   .value_dim = 1,
                   .taps = 4,
                   .rank = 256};
  for (Layer& layer : d.model.kinds) {
    layer.attention = {};
    layer.recurrence = mamba;
  }
  const double taps = 8192 * 3 * 2.0;
  EXPECT_DOUBLE_EQ(stage_work(d).attention.kept_per_request, 32 * (8192 * 16 * 4.0 + taps));
  for (Layer& layer : d.model.kinds) {
    layer.recurrence.kind = RecurrenceKind::kConvolution;
    layer.recurrence.rank = 0;
  }
  EXPECT_DOUBLE_EQ(stage_work(d).attention.kept_per_request, 32 * taps);
  EXPECT_DOUBLE_EQ(stage_work(d).attention.state_flops, 0);
}

TEST(ServingWork, WhatHasNoPriceIsRefusedByName) {
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  EXPECT_TRUE(deployment_problems(d).empty());
  d.model.unpriced = {"several streams of hidden states (hyper-connections)"};
  const std::vector<Diagnostic> problems = deployment_problems(d);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].what.find("hyper-connections"), std::string::npos);
}

TEST(ServingWork, StatesAreKeptPerRequest) {
  const AttentionWork a =
      stage_work(deployment("qwen3.5-397b-a17b", "1 x dgx-b200", "fp8", {.tp = 8})).attention;
  const double state = 8 * 128 * 128 * 4.0, channels = (2 * 16 * 128 + 64 * 128) / 8.0;
  EXPECT_DOUBLE_EQ(a.kept_per_request, 45 * (state + channels * 3 * 2));
  EXPECT_DOUBLE_EQ(a.state_bytes, 45 * 2 * (state + channels * 3 * 2));
  EXPECT_DOUBLE_EQ(a.kept_per_token, 15 * 2 * 1 * 256 * 1.0);  // 2 heads on 8 chips: one each
  EXPECT_DOUBLE_EQ(a.layers, 15);
  EXPECT_DOUBLE_EQ(a.recurrences, 45);
}

TEST(ServingWork, ExpertsTouched) {
  const Deployment d =
      deployment("deepseek-r1", "1 x dgx-h200", "fp8", {.tp = 8, .dp = 1, .ep = 8});
  const StageWork work = stage_work(d);
  ASSERT_EQ(work.experts.size(), 1u);
  const ExpertWork& e = work.experts[0];
  EXPECT_DOUBLE_EQ(e.count, 58);
  EXPECT_DOUBLE_EQ(e.local(), 32);
  EXPECT_DOUBLE_EQ(e.values(), 3 * 7168 * 2048.0);
  EXPECT_NEAR(e.touched(1, 0), 32 * (1 - std::exp(-8.0 / 256)), 1e-9);  // about one of eight
  EXPECT_NEAR(e.touched(1e6, 0), 32, 1e-9);
  // Uneven loads reach fewer, and all in the end.
  EXPECT_LT(e.touched(64, 1), 0.9 * e.touched(64, 0));
  EXPECT_NEAR(e.touched(1e6, 1), 32, 1e-3);
  EXPECT_NEAR(e.touched(0.01, 1), 32 * 0.01 * 8 / 256, 1e-4);
  EXPECT_DOUBLE_EQ(e.rows(64), 64);
}

TEST(ServingWork, StagesShareLayers) {
  Deployment d =
      deployment("llama-3.1-70b", "2 x dgx-h100", "bf16", {.tp = 2, .dp = 1, .ep = 1, .pp = 4});
  const StageWork work = stage_work(d);
  EXPECT_DOUBLE_EQ(work.layers, 20);
  EXPECT_DOUBLE_EQ(work.attention.kept_per_token, 20 * 2 * 4 * 128 * 2.0);
  d.layout.pp = 3;
  EXPECT_DOUBLE_EQ(stage_work(d).layers, 27);
}

}  // namespace
}  // namespace flopcast::serving
