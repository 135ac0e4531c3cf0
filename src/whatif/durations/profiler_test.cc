#include "whatif/durations/profiler.h"

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

/// All that a rank's host does.
double host_us(const Durations& durations, std::uint32_t rank) {
  double sum = 0;
  for (const auto* times : {&durations.ranks[rank].piece, &durations.ranks[rank].gap}) {
    for (const std::vector<Time>& thread : *times) {
      for (const Time time : thread) sum += time.us();
    }
  }
  return sum;
}

/// Two operators with a launch of 10 us and one of 5 us, 50 us apart.
TraceText two_operators() {
  TraceText text;
  text.op("aten::mm", 0, 100).launch(20, 30, 1).kernel("gemm", 40, 60, 7, 1);
  text.op("aten::add", 150, 200).launch(160, 165, 2).kernel("add", 175, 180, 7, 2);
  return text;
}

TEST(WhatIfProfiler, RowsAndLaunchesCostTheHost) {
  ChangedRun run = run_of(two_operators().read());
  ASSERT_FALSE(remove_profiler(run, {}));
  EXPECT_TRUE(run.refused.empty());
  // The quickest launch takes 5 us, 3.75 without half a row: so do both. Four rows at 2.5 us.
  EXPECT_DOUBLE_EQ(host_us(run.durations, 0), 200 - (10 - 3.75) - (5 - 3.75) - 4 * 2.5);
  const Durations::Rank& rank = run.durations.ranks[0];
  EXPECT_EQ(rank.piece[0][1], Time::from_ns(3750));         // the first launch
  EXPECT_EQ(rank.gap[0][3], us(50) - Time::from_ns(2500));  // after one row, before the next
  EXPECT_EQ(rank.gpu, run_of(two_operators().read()).durations.ranks[0].gpu);
  ASSERT_EQ(run.doubts.size(), 1U);
  EXPECT_LT(host_us(run.doubts[0].low, 0), host_us(run.durations, 0));
  EXPECT_GT(host_us(run.doubts[0].high, 0), host_us(run.durations, 0));
}

TEST(WhatIfProfiler, WaitingIsNoWork) {
  TraceText text = two_operators();
  text.call("cudaDeviceSynchronize", 200, 900, 3).kernel("late", 300, 890, 7, 2);
  ChangedRun run = run_of(text.read());
  const std::vector<Time> before = run.durations.ranks[0].piece[0];
  ASSERT_FALSE(remove_profiler(run, {}));
  EXPECT_EQ(run.durations.ranks[0].piece[0].back(), before.back());
}

TEST(WhatIfProfiler, NoPieceFallsBelowZero) {
  TraceText text;
  for (int i = 0; i < 50; ++i) text.op("aten::view", i, i + 0.9);
  text.launch(60, 63, 1).kernel("gemm", 70, 90, 7, 1);
  ChangedRun run = run_of(text.read());
  ASSERT_FALSE(remove_profiler(run, {}));
  for (const auto* times : {&run.durations.ranks[0].piece, &run.durations.ranks[0].gap}) {
    for (const Time time : times->front()) EXPECT_GE(time, Time{});
  }
}

TEST(WhatIfProfiler, WithoutHostRowsNothingIsKnown) {
  TraceText text;
  text.kernel("gemm", 0, 20, 7).kernel("gemm", 25, 40, 7);
  ChangedRun run = run_of(text.read());
  ASSERT_FALSE(remove_profiler(run, {}));
  ASSERT_EQ(run.refused.size(), 1U);
  EXPECT_THAT(run.refused[0].missing, HasSubstr("host"));
}

/// Ten runs of the very program without a profiler.
TEST(WhatIfProfiler, MeasuredRunsAreForecast) {
  FLOPCAST_SHARED_OR_SKIP(recording, "traces/nanogpt_8xh100");
  FLOPCAST_SHARED_OR_SKIP(measured, "measured/whatif_nanogpt.json");
  const double truth = test::measured_step_ms(measured, "tokens_16384_per_gpu");
  const Result<WhatIf> whatif = WhatIf::open({recording});
  ASSERT_TRUE(whatif.ok());
  WhatIfChanges changes;
  changes.remove = {"profiler"};
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  ASSERT_TRUE(answer.ok());
  EXPECT_NEAR(answer->before.seconds() * 1e3, 44.03, 0.05);
  EXPECT_NEAR(answer->after.seconds() * 1e3 / truth, 1, 0.02);
  EXPECT_LE(answer->band.low.seconds() * 1e3, truth);
  EXPECT_GE(answer->band.high.seconds() * 1e3, truth);
}

}  // namespace
}  // namespace flopcast::whatif
