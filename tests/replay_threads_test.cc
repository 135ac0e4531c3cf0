// A replay says the same on one thread and on several, to the byte. Run under the thread sanitizer.
#include <gtest/gtest.h>

#include <string>

#include "flopcast/replay.h"
#include "flopcast/report/replay.h"
#include "support/sample_run.h"
#include "support/trace_text.h"

namespace flopcast {
namespace {

void expect_same_on_two_threads(const TraceSet& set) {
  for (const Baseline baseline : {Baseline::kNone, Baseline::kNoInterStream}) {
    ReplayOptions options;
    options.baseline = baseline;
    options.threads = 1;
    const Result<Replay> one = replay(set, options);
    options.threads = 2;
    const Result<Replay> two = replay(set, options);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_TRUE(one->replayed.start == two->replayed.start);
    EXPECT_TRUE(one->replayed.end == two->replayed.end);
    // Not EXPECT_EQ: it would print both.
    EXPECT_TRUE(replay_json(set, *one) == replay_json(set, *two));
  }
}

TEST(ReplayThreads, ManySmallRanksComeOutTheSame) {
  test::TraceText text;
  for (int r = 0; r < 6; ++r) {
    text.rank(r, 37 * r);
    for (int i = 0; i < 40; ++i) {
      const double at = 500 * i;
      const std::int64_t id = 10 * i;
      text.launch(at, at + 5, id + 1).kernel("gemm", at + 10, at + 100 + 7 * r, 7, id + 1);
      text.op("nccl:all_reduce", at + 20, at + 40)
          .call("cudaEventRecord", at + 21, at + 22)
          .call("cudaStreamWaitEvent", at + 23, at + 24)
          .launch(at + 25, at + 28, id + 2);
      text.collective(at + 102 + 7 * r, at + 300, 20, id + 2, i);
      text.call("cudaStreamWaitEvent", at + 50, at + 51).launch(at + 55, at + 58, id + 3);
      text.kernel("adam", at + 302, at + 400, 7, id + 3)
          .call("cudaDeviceSynchronize", at + 60, at + 405);
    }
  }
  expect_same_on_two_threads(text.read());
}

TEST(ReplayThreads, SampleRanksComeOutTheSame) {
  const Result<TraceSet> set = read_traces({test::sample_run()});
  ASSERT_TRUE(set.ok()) << set.error().text();
  expect_same_on_two_threads(*set);
}

TEST(ReplayThreads, StepsCompareTheSame) {
  const Result<TraceSet> set = read_traces({test::sample_run()});
  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto one = compare_steps(*set, 1).pairs, two = compare_steps(*set, 2).pairs;
  ASSERT_EQ(one.size(), two.size());
  EXPECT_FALSE(one.empty());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].from, two[i].from);
    EXPECT_EQ(one[i].matched_from, two[i].matched_from);
    EXPECT_EQ(one[i].transfer.size(), two[i].transfer.size());
  }
}

}  // namespace
}  // namespace flopcast
