#include "whatif/durations/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/whatif.h"
#include "support/measured_steps.h"
#include "support/shared_traces.h"
#include "whatif/testing.h"

namespace flopcast::whatif {
namespace {

using namespace replaying;
using test::TraceText;
using test::us;
using testing::HasSubstr;

std::optional<Diagnostic> set_tokens(ChangedRun& run, double factor) {
  const SetTokens set{factor};
  return whatif::set_tokens(run, {set, "set tokens"}, set);
}

constexpr const char* kLinear =
    R"("Input Dims": [[4096, 512], [512, 2048]], "Input type": ["c10::BFloat16", "c10::BFloat16"])";
constexpr const char* kRows = R"("Input Dims": [[8, 512, 2048]], "Input type": ["c10::BFloat16"])";
constexpr const char* kMatrix = R"("Input Dims": [[2048, 512]], "Input type": ["c10::BFloat16"])";

/// Forward: a product of 4096 tokens, an activation of 8 x 512, a cast of weights. Backward: the
/// activation's gradient. Optimizer: one kernel. All of 100 us, but for one that takes 2.
TraceText training_step() {
  TraceText text;
  text.step(1, 0, 1000);
  text.op("aten::mm", 0, 10, kLinear).launch(2, 6, 1).kernel("gemm", 10, 110, 7, 1);
  text.op("aten::gelu", 10, 20, kRows).launch(12, 16, 2).kernel("gelu", 110, 210, 7, 2);
  text.op("aten::to", 20, 30, kMatrix).launch(22, 26, 3).kernel("cast", 210, 310, 7, 3);
  text.thread(2)
      .op("autograd::engine::evaluate_function: GeluBackward0", 30, 42)
      .op("aten::gelu_backward", 31, 41, kRows)
      .launch(34, 38, 4)
      .kernel("gelu_backward", 310, 410, 7, 4);
  text.thread(1)
      .annotation("Optimizer.step#SGD.step", 50, 70)
      .op("aten::add_", 52, 62, kMatrix)
      .launch(54, 58, 5)
      .kernel("update", 410, 510, 7, 5)
      .op("aten::fill_", 62, 68)
      .launch(63, 66, 6)
      .kernel("tiny", 510, 512, 7, 6);
  return text;
}

double gpu_us(const ChangedRun& run, std::uint32_t task) {
  return run.durations.ranks[0].gpu[task].us();
}

TEST(WhatIfTokens, ForwardAndBackwardGrowWithTheirRows) {
  ChangedRun run = run_of(training_step().read());
  ASSERT_FALSE(set_tokens(run, 3));
  ASSERT_TRUE(run.refused.empty()) << run.refused[0].missing;
  EXPECT_DOUBLE_EQ(gpu_us(run, 0), 300);                // no chip is known: as the tokens
  EXPECT_DOUBLE_EQ(gpu_us(run, 1), 2 + (100 - 2) * 3);  // what any kernel takes stays: 2 us
  EXPECT_DOUBLE_EQ(gpu_us(run, 2), 100);                // weights have no rows of tokens
  EXPECT_DOUBLE_EQ(gpu_us(run, 3), 2 + (100 - 2) * 3);
  EXPECT_DOUBLE_EQ(gpu_us(run, 4), 100);
  EXPECT_DOUBLE_EQ(gpu_us(run, 5), 2);
  ASSERT_EQ(run.doubts.size(), 1U);
  EXPECT_LT(run.doubts[0].low.ranks[0].gpu[0], run.durations.ranks[0].gpu[0]);
  EXPECT_GT(run.doubts[0].high.ranks[0].gpu[0], run.durations.ranks[0].gpu[0]);
}

TEST(WhatIfTokens, AsManyTokensAreNoChange) {
  ChangedRun run = run_of(training_step().read());
  const std::vector<Time> before = run.durations.ranks[0].gpu;
  ASSERT_FALSE(set_tokens(run, 1));
  EXPECT_EQ(run.durations.ranks[0].gpu, before);
  EXPECT_TRUE(run.doubts.empty());
}

TEST(WhatIfTokens, GradientsKeepTheirSizeAndActivationsGrow) {
  TraceText text;
  for (int rank = 0; rank < 2; ++rank) {
    text.rank(rank).thread(1).step(1, 0, 1000);
    text.op("aten::mm", 0, 10, kLinear).launch(2, 6, 1).kernel("gemm", 10, 110, 7, 1);
    text.op("c10d::allreduce_", 10, 20).launch(12, 16, 2);
    text.collective(110, 150, 20, 2, 1, "0", "allreduce");
    text.thread(2).op("autograd::engine::evaluate_function: MmBackward0", 30, 60);
    text.op("c10d::allreduce_", 31, 40).launch(32, 36, 3);
    text.collective(150, 190, 20, 3, 2, "0", "allreduce");
    text.op("c10d::reduce_scatter_", 41, 50).launch(42, 46, 4);
    text.collective(190, 230, 20, 4, 3, "0", "_reduce_scatter_base");
  }
  ChangedRun run = run_of(text.read());
  ASSERT_FALSE(set_tokens(run, 2));
  ASSERT_TRUE(run.refused.empty()) << run.refused[0].missing;
  const Durations::Rank& rank = run.durations.ranks[0];
  EXPECT_EQ(rank.transfer[1], us(80));  // the forward's
  EXPECT_EQ(rank.transfer[2], us(80));  // of the same size in the backward
  EXPECT_EQ(rank.transfer[3], us(40));  // no forward scatters
}

TEST(WhatIfTokens, KernelsThatNothingTellsOfAreRefused) {
  TraceText text;
  text.call("cudaGraphLaunch", 0, 10, 1)
      .kernel("gemm", 10, 110, 7, 1)
      .kernel("add", 110, 150, 7, 1);
  ChangedRun run = run_of(text.read());
  ASSERT_FALSE(set_tokens(run, 2));
  ASSERT_EQ(run.refused.size(), 1U);
  EXPECT_THAT(run.refused[0].missing, HasSubstr("optimizer"));
}

/// Ten runs of the very program, without a profiler and with twice the tokens.
TEST(WhatIfTokens, MeasuredRunsAreForecast) {
  FLOPCAST_SHARED_OR_SKIP(recording, "traces/nanogpt_8xh100");
  FLOPCAST_SHARED_OR_SKIP(measured, "measured/whatif_nanogpt.json");
  const double truth = test::measured_step_ms(measured, "tokens_32768_per_gpu");
  const Result<WhatIf> whatif = WhatIf::open({recording});
  ASSERT_TRUE(whatif.ok());
  WhatIfChanges changes;
  changes.remove = {"profiler"};
  changes.set = {{"tokens", "2"}};
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  ASSERT_TRUE(answer.ok());
  EXPECT_NEAR(answer->after.seconds() * 1e3 / truth, 1, 0.05);
  EXPECT_LE(answer->band.low.seconds() * 1e3, truth);
  EXPECT_GE(answer->band.high.seconds() * 1e3, truth);
}

}  // namespace
}  // namespace flopcast::whatif
