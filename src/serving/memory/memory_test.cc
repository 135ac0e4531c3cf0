#include "flopcast/serving/memory.h"

#include "serving/iteration/testing.h"

namespace flopcast {
namespace {

using serving::test::deployment;

// vLLM 0.19.0 on an RTX 4090, share 0.9, 2,048 tokens an iteration, 256 requests: its log says 2,588 blocks
// (casys-kaist/LLMServingSim bench/examples).
TEST(ServingMemory, BlocksAsVllmCountedThem) {
  Deployment d = deployment("llama-3.1-8b", "1 x rtx-4090", "bf16", {});
  d.settings.batch_tokens = 2048;
  d.settings.max_requests = 256;
  const Result<ServingMemory> memory = serving_memory(d);
  ASSERT_TRUE(memory) << memory.error().text();
  EXPECT_DOUBLE_EQ(memory->kv_per_token, 131072);
  EXPECT_NEAR(static_cast<double>(memory->blocks), 2588, 2588 * 0.02);
  EXPECT_EQ(memory->tokens, memory->blocks * 16);
}

// Deployments that were measured in public: they must fit.
TEST(ServingMemory, WhatWasServedFits) {
  struct Case {
    const char *model, *cluster, *precision;
    ServingLayout layout;
    ServingEngine engine;
  };
  const Case cases[] = {
      {"deepseek-r1", "1 x dgx-h200", "fp8", {.tp = 8}, ServingEngine::kSglang},
      {"deepseek-r1", "1 x dgx-b200", "fp4", {.tp = 4}, ServingEngine::kTensorRtLlm},
      {"deepseek-r1", "1 x dgx-b200", "fp4", {.tp = 8}, ServingEngine::kSglang},
      {"deepseek-r1",
       "1 x dgx-b200",
       "fp4",
       {.tp = 1, .dp = 4, .ep = 4},
       ServingEngine::kTensorRtLlm},
      {"gpt-oss-120b", "1 x dgx-h100", "fp4", {}, ServingEngine::kVllm},
      {"qwen3-235b-a22b", "1 x dgx-h200", "fp8", {.tp = 4}, ServingEngine::kVllm},
      {"kimi-k2.5", "1 x dgx-h200", "int4", {.tp = 8}, ServingEngine::kVllm},
      {"minimax-m2.5", "1 x dgx-h100", "fp8", {.tp = 4}, ServingEngine::kVllm},
      {"glm-5", "1 x dgx-b200", "fp8", {.tp = 8}, ServingEngine::kSglang},
      {"qwen3.5-397b-a17b", "1 x dgx-b200", "fp8", {.tp = 8}, ServingEngine::kSglang},
      {"qwen3.5-397b-a17b", "1 x dgx-b200", "fp4", {.tp = 4}, ServingEngine::kSglang},
      {"llama-3.1-70b", "1 x dgx-h100", "fp8", {.tp = 2}, ServingEngine::kVllm},
  };
  for (const Case& c : cases) {
    Deployment d = deployment(c.model, c.cluster, c.precision, c.layout, c.engine);
    const Result<ServingMemory> memory = serving_memory(d);
    ASSERT_TRUE(memory) << memory.error().text();
    EXPECT_GT(memory->tokens, 10'000) << c.model << " " << c.precision;
    EXPECT_LE(memory->weights.value + memory->kv.value, memory->capacity.value) << c.model;
  }
}

TEST(ServingMemory, WhatDoesNotFitNamesWhatDoes) {
  const Deployment d = deployment("llama-3.1-70b", "1 x dgx-h100", "bf16", {});
  const Result<ServingMemory> memory = serving_memory(d);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(memory.error().hint.find("tp 2 fits"), std::string::npos) << memory.error().text();
}

TEST(ServingMemory, TokensAskedForAreTaken) {
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  d.settings.kv_tokens = 1000;
  const Result<ServingMemory> memory = serving_memory(d);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->blocks, 62);
}

}  // namespace
}  // namespace flopcast
