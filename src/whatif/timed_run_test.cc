#include "whatif/timed_run.h"

#include <gtest/gtest.h>

#include "flopcast/replay/timeline.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"
#include "whatif/prepared.h"

namespace flopcast::whatif {
namespace {

using namespace replaying;

/// Step times taken from tasks are those of a replay's timelines, whatever its lags.
void expect_steps_of_replays(const std::filesystem::path& path, const std::string& prefix = "") {
  SCOPED_TRACE(path.string());
  Result<TraceSet> read = read_traces({path}, {}, prefix);
  ASSERT_TRUE(read.ok()) << read.error().text();
  const auto set = std::make_shared<const TraceSet>(std::move(*read));
  const Result<Prepared> prepared = prepare(set, 0);
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  const ChangedRun& run = prepared->recorded;
  for (const LagMode mode : {LagMode::kTypical, LagMode::kZero, LagMode::kRecorded}) {
    const Lags lags = measure_lags(*run.recording, *run.bindings, mode);
    const Result<TimedRun> timed = time_run(run, lags);
    ReplayOptions options;
    options.lags = mode;
    const Result<Replay> replayed = replay(*set, options);
    ASSERT_TRUE(timed.ok() && replayed.ok());
    std::size_t steps = 0;
    for (std::size_t r = 0; r < replayed->steps.size(); ++r) {
      for (std::size_t s = 0; s < replayed->steps[r].size(); ++s, ++steps) {
        const StepResult& expected = replayed->steps[r][s];
        EXPECT_EQ(timed->steps[r][s].gpu(), expected.replayed_gpu) << expected.name;
        EXPECT_EQ(timed->steps[r][s].host_start, expected.replayed_start) << expected.name;
        EXPECT_EQ(timed->steps[r][s].host_end, expected.replayed_end) << expected.name;
      }
    }
    EXPECT_GT(steps, 0U);
  }
}

TEST(WhatIfTimedRun, StepsAreThoseOfReplays) { expect_steps_of_replays(test::sample_run()); }

TEST(WhatIfTimedRun, StepsAreThoseOfRecordedReplays) {
  FLOPCAST_SHARED_OR_SKIP(traces, "traces");
  for (const char* set :
       {"resnet50_1xv100/num_workers_0.json.gz", "resnet50_1xv100/num_workers_4.json.gz",
        "graph_decode_8xh200", "decode_kernels_8xh200/run1", "cuda_sync_small/alexnet_a100.json.gz",
        "megatron_tp8_a100", "nanogpt_8xh100"})
    expect_steps_of_replays(traces / set);
  expect_steps_of_replays(traces / "dlrm_8xv100_kineto_et", "kineto");
  expect_steps_of_replays(traces / "torchrec_dlrm_4xv100", "sst_sleep");
}

TEST(WhatIfTimedRun, UsualStepsAreThoseNearTheMiddle) {
  const auto ps = [](std::int64_t n) { return Time{n}; };
  EXPECT_EQ(usual({ps(5)}), ps(5));
  EXPECT_EQ(usual({ps(600), ps(341), ps(315), ps(343)}), ps(333));  // one starts cold
  EXPECT_EQ(usual({ps(126), ps(163), ps(124)}), ps(125));           // one is held up
  EXPECT_EQ(usual({ps(100), ps(200)}), ps(150));                    // none is near: their middle
}

TEST(WhatIfTimedRun, TheFirstStepCountsWhereNoOtherHasGpuWork) {
  StepsOfRanks steps(1, std::vector<StepTasks>(2));
  steps[0][0].name = "ProfilerStep#1";
  steps[0][1].name = "ProfilerStep#2";
  std::vector<std::vector<StepTime>> times(1, std::vector<StepTime>(2));
  times[0][0] = {Time{}, Time::from_us(9), Time{}, Time::from_us(8)};
  times[0][1] = {Time::from_us(9), Time::from_us(10), std::nullopt, std::nullopt};
  EXPECT_EQ(judge(steps, times, {}).gpu, Time::from_us(8));
  times[0][1] = {Time::from_us(9), Time::from_us(20), Time::from_us(8), Time::from_us(20)};
  EXPECT_EQ(judge(steps, times, {}).gpu, Time::from_us(12));  // the first one starts cold
}

}  // namespace
}  // namespace flopcast::whatif
