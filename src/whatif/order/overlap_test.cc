#include "whatif/order/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/whatif.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"
#include "whatif/testing.h"
#include "whatif/timed_run.h"

namespace flopcast::whatif {
namespace {

using namespace replaying;
using test::TraceText;
using test::us;
using testing::HasSubstr;

WhatIfAnswer answer_of(const TraceText& text, const WhatIfChanges& changes) {
  const Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(text.read()));
  EXPECT_TRUE(whatif.ok());
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

WhatIfChanges removed(const std::string& what) {
  WhatIfChanges changes;
  changes.remove = {what};
  return changes;
}
WhatIfChanges added(const std::string& what) {
  WhatIfChanges changes;
  changes.add = {what};
  return changes;
}

/// Two ranks, each of a gradient (10-60), the all-reduce of it (60-100) beside the next gradient
/// (60-150), and an optimizer that waits for both (150-180).
TraceText side_by_side() {
  TraceText text;
  for (int rank = 0; rank < 2; ++rank) {
    text.rank(rank).step(1, 0, 100);
    text.op("autograd::engine::evaluate_function: A", 0, 10);
    text.launch(2, 4, 1).kernel("a", 10, 60, 7, 1);
    text.op("c10d::allreduce_", 10, 20).call("cudaEventRecord", 11, 12);
    text.call("cudaStreamWaitEvent", 12, 13).launch(14, 16, 2).collective(60, 100, 20, 2, 1);
    text.op("autograd::engine::evaluate_function: B", 20, 30);
    text.launch(22, 24, 3).kernel("b", 60, 150, 7, 3);
    text.annotation("Optimizer.step#SGD.step", 30, 50).op("aten::add_", 31, 45);
    text.launch(34, 36, 4).kernel("update", 150, 180, 7, 4);
  }
  return text;
}

TEST(WhatIfOverlap, RemovedEverythingTakesTurns) {
  const WhatIfAnswer answer = answer_of(side_by_side(), removed("overlap"));
  ASSERT_TRUE(answer.refused.empty()) << answer.refused[0].missing;
  EXPECT_EQ(answer.before, us(180));
  // 50 of a, 40 of the all-reduce, then 90 of b and 30 of the optimizer.
  EXPECT_EQ(answer.after, us(10 + 50 + 40 + 90 + 30));
}

TEST(WhatIfOverlap, WithoutCommunicationThereIsNoneToRemove) {
  TraceText text;
  text.step(1, 0, 50).op("aten::mm", 0, 10).launch(2, 4, 1).kernel("gemm", 10, 60, 7, 1);
  const WhatIfAnswer answer = answer_of(text, removed("overlap"));
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_THAT(answer.refused[0].missing, HasSubstr("communication"));
}

/// The same, but b waits for the all-reduce that it does not need (100-190); the optimizer, too.
TraceText waiting() {
  TraceText text;
  for (int rank = 0; rank < 2; ++rank) {
    text.rank(rank).step(1, 0, 100);
    text.op("autograd::engine::evaluate_function: A", 0, 10);
    text.launch(2, 4, 1).kernel("a", 10, 60, 7, 1);
    text.op("c10d::allreduce_", 10, 18).launch(14, 16, 2).collective(60, 100, 20, 2, 1);
    text.call("cudaEventRecord", 18, 19).call("cudaStreamWaitEvent", 19, 20, 9);
    text.op("autograd::engine::evaluate_function: B", 20, 30);
    text.launch(22, 24, 3).kernel("b", 100, 190, 7, 3);
    text.annotation("Optimizer.step#SGD.step", 30, 50).op("aten::add_", 31, 45);
    text.launch(34, 36, 4).kernel("update", 190, 220, 7, 4);
  }
  return text;
}

TEST(WhatIfOverlap, AddedTheOptimizerAloneWaitsForGradients) {
  ChangedRun run = run_of(waiting().read());
  const auto waits = [&] {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const GpuEdge& e : run.recording->cross_stream[0].edges) {
      if (run.recording->ranks[0].gpu[e.source].communication)
        pairs.push_back({e.source, e.target});
    }
    return pairs;
  };
  ASSERT_THAT(waits(), testing::ElementsAre(std::pair(1U, 2U)));  // all-reduce, b
  ASSERT_FALSE(add_overlap(run, {}, {}));
  EXPECT_THAT(waits(), testing::ElementsAre(std::pair(1U, 3U)));  // all-reduce, update
  const WhatIfAnswer answer = answer_of(waiting(), added("overlap"));
  ASSERT_TRUE(answer.refused.empty()) << answer.refused[0].missing;
  EXPECT_EQ(answer.before, us(220));
  EXPECT_EQ(answer.after, us(10 + 50 + 90 + 30));
}

TEST(WhatIfOverlap, WaitsThatThereAreNotCannotBePutOff) {
  EXPECT_FALSE(answer_of(side_by_side(), added("overlap")).refused.empty());
  EXPECT_FALSE(answer_of(waiting(), added("overlap:all_to_all")).refused.empty());
  EXPECT_TRUE(answer_of(waiting(), added("overlap:all_reduce")).refused.empty());
}

/// Nothing ends sooner with more edges, but for what room on the SMs does: what comes later finds it
/// sooner now and then. And no run takes longer than all work in a row.
void expect_bounds(const std::filesystem::path& path) {
  Result<TraceSet> read = read_traces({path});
  ASSERT_TRUE(read.ok());
  ChangedRun run = run_of(std::move(*read));
  const Result<TimedRun> before = time_run(run, *run.lags);
  ASSERT_FALSE(remove_overlap(run, {}));
  const Result<TimedRun> after = time_run(run, *run.lags);
  ASSERT_TRUE(before.ok() && after.ok());
  Time work, last = Time::min(), first = Time::max();
  for (std::size_t r = 0; r < run.recording->ranks.size(); ++r) {
    const TaskMap::Rank& was = before->assembly.map.ranks[r];
    const TaskMap::Rank& is = after->assembly.map.ranks[r];
    for (std::size_t t = 0; t < was.gpu_last.size(); ++t) {
      const Time end = after->run.end[is.gpu_last[t]];
      ASSERT_GE(end + us(100), before->run.end[was.gpu_last[t]]) << r << " " << t;
      last = std::max(last, end);
      first = std::min(first, before->run.start[was.gpu_first[t]]);
      work += before->run.end[was.gpu_last[t]] - before->run.start[was.gpu_first[t]];
    }
  }
  EXPECT_LE(last - first, work + before->run.makespan);
}

TEST(WhatIfOverlap, RemovedNothingOfTheSampleEndsSooner) { expect_bounds(test::sample_run()); }

TEST(WhatIfOverlap, RemovedNothingOfARecordingEndsSooner) {
  FLOPCAST_SHARED_OR_SKIP(path, "traces/nanogpt_8xh100");
  expect_bounds(path);
}

}  // namespace
}  // namespace flopcast::whatif
