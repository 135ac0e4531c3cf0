#include "live/account/account.h"

#include <gtest/gtest.h>

#include <random>

#include "live/account/timeline.h"

namespace flopcast::live {
namespace {

Time us(std::int64_t n) { return Time::from_us(n); }

/// What the sweep must say, instant by instant.
LiveTimes slow_times(const std::vector<std::tuple<Activity::Of, Time, Time>>& tasks) {
  LiveTimes times;
  Time from = Time::max(), to;
  for (const auto& [what, start, end] : tasks) {
    if (what == Activity::Of::kHostWait) continue;
    from = std::min(from, start);
    to = std::max(to, end);
  }
  for (Time at = from; at < to; at += us(1)) {
    bool runs[4] = {};
    for (const auto& [what, start, end] : tasks) {
      if (start <= at && at < end) runs[static_cast<int>(what)] = true;
    }
    Time& part = runs[0] && runs[1] ? times.overlapped
                 : runs[0]          ? times.exposed_compute
                 : runs[1]          ? times.exposed_communication
                 : runs[2]          ? times.copies
                 : runs[3]          ? times.idle
                                    : times.host_bound;
    part += us(1);
    times.window += us(1);
  }
  return times;
}

TEST(LiveActivity, PartsAreThoseOfEveryInstant) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::tuple<Activity::Of, Time, Time>> tasks;
    Time at;
    for (int i = 0; i < 12; ++i) {
      at += us(random() % 5);
      tasks.emplace_back(static_cast<Activity::Of>(random() % 4), at, at + us(1 + random() % 9));
    }
    Activity activity;
    for (const auto& [what, start, end] : tasks) activity.add(what, start, end);
    const LiveTimes is = activity.times(), should = slow_times(tasks);
    for (const auto part :
         {&LiveTimes::window, &LiveTimes::exposed_compute, &LiveTimes::exposed_communication,
          &LiveTimes::overlapped, &LiveTimes::copies, &LiveTimes::host_bound, &LiveTimes::idle})
      EXPECT_EQ((is.*part).ps, (should.*part).ps) << "round " << round;
  }
}

TEST(LiveSteps, ALoopInALoopIsOneStep) {
  // Three layers of (1 2 3), a loss, three layers back, an optimiser; a beginning and an end besides.
  std::vector<std::uint32_t> sequence = {40, 41, 42};
  const std::size_t begin = sequence.size();
  const std::vector<std::uint32_t> step = {1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 5, 4, 5, 4, 5, 4, 8, 8};
  for (int i = 0; i < 5; ++i) sequence.insert(sequence.end(), step.begin(), step.end());
  sequence.push_back(50);
  const Repetition found = find_repetition(sequence);
  EXPECT_EQ(found.period, step.size());
  EXPECT_EQ(found.begin, begin);
  EXPECT_EQ(found.end, begin + 5 * step.size());
}

TEST(LiveSteps, WhatNeverRepeatsHasNone) {
  EXPECT_EQ(find_repetition({}).period, 0u);
  EXPECT_EQ(find_repetition({1}).period, 0u);
  EXPECT_EQ(find_repetition({1, 2, 3, 4, 5, 6, 7, 8, 9}).period, 0u);
}

TEST(LiveSteps, MarksOfTheScriptGoBeforeWhatRepeats) {
  StepFinder finder;
  for (int i = 0; i < 8; ++i) finder.work(1, us(i), us(i + 1));
  EXPECT_EQ(finder.steps().size(), 8u);
  finder.mark("ProfilerStep#1", true, us(1));
  finder.mark("ProfilerStep#1", false, us(4));
  ASSERT_EQ(finder.steps().size(), 1u);
  EXPECT_EQ(finder.steps()[0].start, us(1));
  EXPECT_EQ(finder.steps()[0].end, us(4));
}

ToldTask told(TaskKind kind, Time start, Time end, TaskNote note, GrowingTask number) {
  ToldTask one;
  one.task.task = number;
  one.task.kind = kind;
  one.task.start = start;
  one.task.end = end;
  one.note = note;
  return one;
}

TEST(LiveTimeline, IsWhatAProfilerWouldHaveRecorded) {
  const Processor thread{Processor::Kind::kThread, 3, 0, 0, 0};
  const Processor stream{Processor::Kind::kStream, 3, 7, 0, 0};
  TimelineWriter writer("H100", 132);
  writer.add(told(TaskKind::kLaunch, us(1), us(2), {.act = Act::kKernel}, 10), thread, "kernel add",
             "");
  writer.add(told(TaskKind::kCompute, us(5), us(9),
                  {.act = Act::kKernel, .threads = 256, .blocks = 12, .launcher = 10}, 11),
             stream, "kernel add", "");
  writer.add(told(TaskKind::kTransfer, us(9), us(20),
                  {.act = Act::kCollective, .bytes = 4096, .launcher = 10}, 12),
             stream, "communicate", "0,3");
  LiveRank rank;
  rank.rank = 3;
  rank.steps = {{us(5), us(20)}};
  const TraceSet set = writer.take("run", {rank});
  ASSERT_EQ(set.traces.size(), 1u);
  const Trace& trace = set.traces[0];
  EXPECT_EQ(trace.rank, 3);
  ASSERT_EQ(trace.events.size(), 4u);
  // The step begins with the call of its first kernel.
  EXPECT_EQ(set.strings[trace.events.name[0]], "ProfilerStep#1");
  EXPECT_EQ(trace.events.start[0], us(1));
  EXPECT_EQ(set.strings[trace.events.name[1]], "cudaLaunchKernel");
  EXPECT_EQ(set.strings[trace.events.name[2]], "add");
  EXPECT_EQ(trace.events.correlation[1], trace.events.correlation[2]);
  EXPECT_EQ(trace.kernels[trace.events.detail[2]].blocks, 12u);
  EXPECT_TRUE(is_communication_kernel(set.strings[trace.events.name[3]]));
  const CollectiveDetail& collective = trace.collectives[trace.events.collective[3]];
  EXPECT_EQ(collective.in_elements, 4096);
  EXPECT_EQ(set.strings[collective.group_ranks], "[0,3]");
}

}  // namespace
}  // namespace flopcast::live
