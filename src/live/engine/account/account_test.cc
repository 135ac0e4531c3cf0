#include "live/engine/account/account.h"

#include <gtest/gtest.h>

#include <random>

#include "live/engine/account/timeline.h"

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
                  {.act = Act::kCollective,
                   .detail = static_cast<std::uint8_t>(Collective::kReduceScatter),
                   .bytes = 4096,
                   .launcher = 10,
                   .sequence = 7,
                   .element = Element::kFloat16},
                  12),
             stream, "communicate", "0,3");
  LiveRank rank;
  rank.rank = 3;
  rank.steps = {{us(5), us(20)}};
  const Result<TraceSet> made = writer.traces("run", {rank});
  ASSERT_TRUE(made);
  const TraceSet& set = *made;
  ASSERT_EQ(set.traces.size(), 1u);
  const Trace& trace = set.traces[0];
  EXPECT_EQ(trace.rank, 3);
  ASSERT_EQ(trace.events.size(), 5u);
  // The step begins with the call of its first kernel.
  EXPECT_EQ(set.strings[trace.events.name[0]], "ProfilerStep#1");
  EXPECT_EQ(trace.events.start[0], us(1));
  EXPECT_EQ(trace.events.category[1], Category::kCpuOp);
  EXPECT_EQ(set.strings[trace.ops[trace.events.detail[1]].concrete_inputs], "[\"kernel add\"]");
  EXPECT_EQ(set.strings[trace.events.name[2]], "cudaLaunchKernel");
  EXPECT_EQ(set.strings[trace.events.name[3]], "add");
  EXPECT_EQ(trace.events.correlation[2], trace.events.correlation[3]);
  EXPECT_EQ(trace.kernels[trace.events.detail[3]].blocks, 12u);
  EXPECT_TRUE(is_communication_kernel(set.strings[trace.events.name[4]]));
  const CollectiveDetail& collective = trace.collectives[trace.events.collective[4]];
  EXPECT_EQ(collective.in_elements, 2048);
  EXPECT_EQ(collective.out_elements, 1024);
  EXPECT_EQ(collective.sequence, 7);
  EXPECT_EQ(set.strings[collective.dtype], "Half");
  EXPECT_EQ(set.strings[collective.group_ranks], "[0,3]");
  EXPECT_EQ(collective.group_size, 2);
}

TEST(LiveTimeline, SaysWhatAStreamWaitsFor) {
  const Processor thread{Processor::Kind::kThread, 0, 0, 0, 0};
  TimelineWriter writer("H100", 132);
  writer.add(told(TaskKind::kLaunch, us(1), us(2),
                  {.act = Act::kRecordEvent, .stream = 7, .event = 5}, 10),
             thread, "record event", "");
  writer.add(told(TaskKind::kLaunch, us(3), us(4),
                  {.act = Act::kStreamWaitsEvent,
                   .stream = 9,
                   .event = 5,
                   .recorder = 10,
                   .recorded_on = 7},
                  11),
             thread, "stream waits for event", "");
  writer.add(told(TaskKind::kSync, us(4), us(6),
                  {.act = Act::kWaitEvent, .event = 5, .recorder = 10, .recorded_on = 7}, 12),
             thread, "wait for event", "");
  writer.add(told(TaskKind::kSync, us(6), us(8), {.act = Act::kWaitStream, .stream = 9}, 13),
             thread, "wait for stream", "");
  const Result<TraceSet> made = writer.traces("run", {});
  ASSERT_TRUE(made);
  const Trace& trace = made->traces[0];
  const Events& events = trace.events;
  std::vector<const SyncDetail*> syncs;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < events.size(); ++row) {
    if (events.category[row] != Category::kSync) continue;
    syncs.push_back(&trace.syncs[events.detail[row]]);
    rows.push_back(row);
  }
  ASSERT_EQ(syncs.size(), 3u);
  EXPECT_EQ(syncs[0]->kind, SyncDetail::Kind::kStreamWaitEvent);
  EXPECT_EQ(events.stream[rows[0]], 9);
  EXPECT_EQ(syncs[1]->kind, SyncDetail::Kind::kEventSync);
  for (int i : {0, 1}) {
    EXPECT_EQ(syncs[i]->wait_on_stream, 7);
    EXPECT_EQ(syncs[i]->record_correlation, events.correlation[0]);
  }
  EXPECT_EQ(syncs[2]->kind, SyncDetail::Kind::kStreamSync);
  EXPECT_EQ(events.stream[rows[2]], 9);
}

TEST(LiveTimeline, KeepsFewRowsInMemoryAndAllOfThem) {
  const Processor thread{Processor::Kind::kThread, 0, 0, 0, 0};
  const Processor other{Processor::Kind::kThread, 1, 0, 0, 0};
  TimelineWriter writer("H100", 132);
  constexpr int kCalls = 20'000;
  std::size_t most = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto number = static_cast<GrowingTask>(i);
    writer.add(told(TaskKind::kHostCall, us(2 * i), us(2 * i + 1), {.act = Act::kAllocate}, number),
               i % 3 == 0 ? other : thread, "allocate", "");
    most = std::max(most, writer.rows_held());
  }
  EXPECT_EQ(writer.rows(), static_cast<std::size_t>(kCalls));
  EXPECT_LE(most, 2u * 1024);
  const Result<TraceSet> all = writer.traces("run", {});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->traces.size(), 2u);
  ASSERT_EQ(all->traces[0].events.size() + all->traces[1].events.size(),
            static_cast<std::size_t>(kCalls));
  EXPECT_TRUE(
      std::is_sorted(all->traces[0].events.start.begin(), all->traces[0].events.start.end()));
  const Result<TraceSet> second = writer.traces("run", {}, 1);
  ASSERT_TRUE(second);
  ASSERT_EQ(second->traces.size(), 1u);
  EXPECT_EQ(second->traces[0].rank, 1);
  EXPECT_EQ(second->traces[0].events.start, all->traces[1].events.start);
}

}  // namespace
}  // namespace flopcast::live
