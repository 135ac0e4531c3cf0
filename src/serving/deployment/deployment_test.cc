#include "flopcast/serving.h"
#include "serving/iteration/testing.h"

namespace flopcast {
namespace {

using serving::test::deployment;

TEST(ServingPrecision, AsCheckpointsStoreThem) {
  const auto of = [](const char* text, const char* model) {
    return *serving_precision(text, *load_model(model));
  };
  EXPECT_EQ(of("fp8", "llama-3.1-70b").dense, GemmType::kFp8);
  EXPECT_EQ(of("fp8", "deepseek-r1").experts, GemmType::kFp8Block);
  EXPECT_EQ(of("fp4", "deepseek-r1").attention, GemmType::kBf16);
  EXPECT_EQ(of("fp4", "llama-3.1-70b").attention, GemmType::kNvfp4);
  EXPECT_EQ(of("fp4", "gpt-oss-120b").experts, GemmType::kMxfp4Weight);
  EXPECT_EQ(of("fp4", "gpt-oss-120b").kv_cache, DataType::kBf16);
  EXPECT_EQ(of("int4", "kimi-k2.5").attention, GemmType::kBf16);
  EXPECT_EQ(of("bf16", "qwen3-32b").kv_cache, DataType::kBf16);
  EXPECT_FALSE(serving_precision("int3", *load_model("qwen3-32b")));
}

TEST(DeploymentProblems, NameWhatWorks) {
  const auto first = [](const Deployment& d) {
    const std::vector<Diagnostic> problems = deployment_problems(d);
    return problems.empty() ? std::string() : problems.front().text();
  };
  const auto says = [&](const Deployment& d, const char* what) {
    EXPECT_NE(first(d).find(what), std::string::npos) << first(d);
  };
  EXPECT_EQ(first(deployment("llama-3.1-8b", "1 x dgx-h100", "fp8", {.tp = 8})), "");
  says(deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {.tp = 16}), "16 chips");
  says(deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {.tp = 1, .dp = 1, .ep = 2}),
       "no experts");
  says(deployment("deepseek-r1", "1 x dgx-h200", "fp8", {.tp = 8, .dp = 1, .ep = 3}), "1, 2, 4, 8");
  says(deployment("llama-3.1-8b", "1 x dgx-h100", "fp4", {}), "does not multiply in fp4");
  says(deployment("llama-3.1-8b", "1 x dgx-a100", "fp8", {}), "does not multiply in fp8");
  says(deployment("qwen3-30b-a3b", "16 x dgx-h100", "bf16", {.tp = 1, .dp = 1, .ep = 1, .pp = 64}),
       "stages");
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  d.settings.speculation = {Speculation::Kind::kEagle, 2, 4};
  says(d, "cannot bring");
  d.settings = {};
  d.settings.memory_share = 1.5;
  says(d, "memory_share");
}

TEST(ServingEngine, NamesAreReadBack) {
  for (const auto engine :
       {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm}) {
    EXPECT_EQ(parse_serving_engine(name(engine)), engine);
  }
  EXPECT_EQ(parse_serving_engine("TensorRT-LLM"), ServingEngine::kTensorRtLlm);
  EXPECT_FALSE(parse_serving_engine("triton"));
}

}  // namespace
}  // namespace flopcast
