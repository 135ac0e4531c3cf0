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
  EXPECT_FALSE(trtllm.chunked_prefill);
  EXPECT_EQ(trtllm.capacity, CapacityPolicy::kNoEvict);
  const EngineSettings sglang = engine_defaults(ServingEngine::kSglang, {}, {.tp = 1, .dp = 8});
  EXPECT_EQ(sglang.block, 1);
  EXPECT_EQ(sglang.batch_tokens, 1024);
  EXPECT_EQ(sglang.conservativeness, 0.3);
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
