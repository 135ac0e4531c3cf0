#include <gtest/gtest.h>

#include <algorithm>

#include "flopcast/serving.h"

namespace flopcast {
namespace {

TEST(EngineDefaults, AreTheEnginesOwn) {
  const EngineSettings vllm = engine_defaults(ServingEngine::kVllm, {}, {});
  EXPECT_EQ(vllm.block, 16);
  EXPECT_EQ(vllm.graphs.size(), 3U + 32U + 16U);
  EXPECT_TRUE(vllm.chunked_prefill);
  const EngineSettings trtllm = engine_defaults(ServingEngine::kTensorRtLlm, {}, {});
  EXPECT_EQ(trtllm.block, 32);
  EXPECT_TRUE(trtllm.chunked_prefill);
  EXPECT_EQ(trtllm.capacity, CapacityPolicy::kNoEvict);
  const EngineSettings sglang = engine_defaults(ServingEngine::kSglang, {}, {.tp = 1, .dp = 8});
  EXPECT_EQ(sglang.block, 1);
  EXPECT_EQ(sglang.batch_tokens, 1024);
  EXPECT_EQ(sglang.conservativeness, 0.3);
}

TEST(EngineDefaults, AreThoseOfTheRelease) {
  const auto of = [](ServingEngine engine, const char* version, const Chip* chip = nullptr) {
    return engine_defaults(engine, {}, {}, version, chip);
  };
  EXPECT_FALSE(of(ServingEngine::kTensorRtLlm, "1.2").chunked_prefill);
  EXPECT_FALSE(of(ServingEngine::kTensorRtLlm, "1.2.0rc6.post3").chunked_prefill);
  EXPECT_FALSE(of(ServingEngine::kTensorRtLlm, "0.21.0").chunked_prefill);
  EXPECT_TRUE(of(ServingEngine::kTensorRtLlm, "1.3.0").chunked_prefill);
  EXPECT_EQ(of(ServingEngine::kVllm, "0.10.2").version, "0.10.2");
  EXPECT_EQ(of(ServingEngine::kVllm, "0.19.1").memory_share, 0.9);
  EXPECT_EQ(of(ServingEngine::kVllm, "0.20.0").memory_share, 0.92);
  const Result<Chip> b200 = Catalog::builtin().chip("b200");
  ASSERT_TRUE(b200);
  EXPECT_EQ(of(ServingEngine::kVllm, "0.27.0", &*b200).batch_tokens, 8192);
  EXPECT_EQ(of(ServingEngine::kVllm, "0.28.0", &*b200).batch_tokens, 16384);
}

TEST(EngineDefaults, AreThoseOfTheChipsMemory) {
  const auto of = [](ServingEngine engine, const char* chip, ServingLayout layout = {}) {
    const Result<Chip> known = Catalog::builtin().chip(chip);
    EXPECT_TRUE(known) << chip;
    return engine_defaults(engine, {}, layout, {}, &*known);
  };
  EXPECT_EQ(of(ServingEngine::kVllm, "h100").batch_tokens, 8192);
  for (const char* small : {"a100", "l40s", "rtx-4090"}) {
    EXPECT_EQ(of(ServingEngine::kVllm, small).batch_tokens, 2048) << small;
    EXPECT_EQ(of(ServingEngine::kVllm, small).max_requests, 256) << small;
  }
  EXPECT_EQ(of(ServingEngine::kSglang, "h100").batch_tokens, 8192);
  EXPECT_EQ(of(ServingEngine::kSglang, "h100").graphs.back(), 256);
  EXPECT_EQ(of(ServingEngine::kSglang, "h100", {.tp = 4}).graphs.back(), 512);
  EXPECT_EQ(of(ServingEngine::kSglang, "b200").batch_tokens, 16384);
  EXPECT_EQ(of(ServingEngine::kSglang, "rtx-4090").batch_tokens, 2048);
  EXPECT_EQ(of(ServingEngine::kSglang, "rtx-4090").graphs.back(), 24);
}

TEST(EngineDefaults, CapturedSizesRise) {
  for (const auto engine :
       {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm}) {
    const auto graphs = engine_defaults(engine, {}, {.tp = 8}).graphs;
    EXPECT_TRUE(std::is_sorted(graphs.begin(), graphs.end())) << name(engine);
    EXPECT_EQ(std::adjacent_find(graphs.begin(), graphs.end()), graphs.end()) << name(engine);
    EXPECT_EQ(engine_defaults(engine, {}, {}).engine, engine);
  }
}

}  // namespace
}  // namespace flopcast
