#include "flopcast/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace flopcast::engine {
namespace {

using testing::HasSubstr;

Time us(std::int64_t n) { return Time::from_us(n); }
constexpr auto kThread = Processor::Kind::kThread;
constexpr auto kStream = Processor::Kind::kStream;
constexpr auto kHub = Processor::Kind::kHub;

Run run_of(const Graph& graph, const std::vector<Time>& release = {}) {
  Result<Run> run = simulate(graph, release);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().text());
  return run.ok() ? std::move(*run) : Run{};
}

// ---- by hand ------------------------------------------------------------------------------------

TEST(Engine, ARunLongerThanTheClockIsAnErrorThatNamesTheLongestTask) {
  const Time month{30LL * 86400 * 1'000'000'000'000};
  for (const int tasks : {1, 2, 3, 4, 8, 1000}) {
    GraphBuilder b;
    StringTable names;
    b.add_processor(kStream, 7, 1);
    for (int i = 0; i < tasks; ++i)
      b.add_task(TaskKind::kCompute, names.intern(i == 0 ? "slow" : "fast"),
                 i == 0 ? month : Time{month.ps - 1}, us(0));
    const Graph graph = std::move(b).build();
    const Result<flopcast::Run> run = simulate(graph, {}, &names);
    ASSERT_EQ(run.ok(), tasks == 1) << tasks;
    if (run.ok()) continue;
    EXPECT_EQ(run.error().code, ErrorCode::kNoAnswer);
    EXPECT_THAT(run.error().text(), HasSubstr("rank 7 compute slow (task 0)"));
  }
}

TEST(Engine, LagsGapsAndWaitsDoNotWrapRound) {
  const Time half{Time::max().ps / 2 + 1};
  for (const bool by_edge : {true, false}) {
    GraphBuilder b;
    b.add_processor(kStream, 0, 1);
    const TaskId first = b.add_task(TaskKind::kCompute, 0, half, us(0));
    b.add_task(TaskKind::kCompute, 0, us(1), by_edge ? us(0) : half);
    b.add_processor(kStream, 1, 1);
    const TaskId other = b.add_task(TaskKind::kCompute, 0, us(1), us(0));
    if (by_edge) b.add_edge({first, other, half, EdgeKind::kEvent, false});
    EXPECT_FALSE(simulate(std::move(b).build()).ok()) << by_edge;
  }
}

TEST(Engine, WorkedExampleOfTheGraphHeader) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId launch_a = b.add_task(TaskKind::kLaunch, 0, us(5), us(0));
  const TaskId launch_b = b.add_task(TaskKind::kLaunch, 0, us(5), us(0));
  const TaskId sync = b.add_task(TaskKind::kSync, 0, us(0), us(0));
  const auto stream = b.add_processor(kStream, 0, 7);
  const TaskId kernel_a = b.add_task(TaskKind::kCompute, 0, us(20), us(0));
  const TaskId kernel_b = b.add_task(TaskKind::kCompute, 0, us(30), us(0));
  b.set_launcher(kernel_a, launch_a);
  b.set_launcher(kernel_b, launch_b);
  b.add_edge({launch_a, kernel_a, us(2), EdgeKind::kLaunch, true});
  b.add_edge({launch_b, kernel_b, us(2), EdgeKind::kLaunch, true});
  b.add_wait(sync, {stream}, us(0));
  const auto run = run_of(std::move(b).build());

  EXPECT_EQ(run.start[kernel_a], us(2));
  EXPECT_EQ(run.end[kernel_a], us(22));
  EXPECT_EQ(run.start[kernel_b], us(22));
  EXPECT_EQ(run.end[kernel_b], us(52));
  EXPECT_EQ(run.start[sync], us(10));
  EXPECT_EQ(run.end[sync], us(52));
  EXPECT_EQ(run.makespan, us(52));
  EXPECT_EQ(run.cause[sync], kernel_b);
  EXPECT_EQ(run.cause[kernel_b], kernel_a);
  EXPECT_EQ(run.cause[kernel_a], launch_a);
  EXPECT_EQ(run.cause[launch_a], kNoTask);
}

TEST(Engine, RunsAGraphWithOtherTimesAsOneThatHasThem) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId launch_a = b.add_task(TaskKind::kLaunch, 0, us(5), us(0));
  const TaskId launch_b = b.add_task(TaskKind::kLaunch, 0, us(5), us(1));
  std::vector<TaskId> kernels;
  for (const TaskId launch : {launch_a, launch_b}) {
    b.add_processor(kStream, 0, 7 + launch);
    kernels.push_back(b.add_task(TaskKind::kCompute, 0, us(40), us(0)));
    b.add_edge({launch, kernels.back(), us(2), EdgeKind::kLaunch, true});
  }
  Graph graph = std::move(b).build();
  graph.room.assign(graph.task_count(), kNoRoom);
  for (const TaskId kernel : kernels) graph.room[kernel] = 0;
  graph.fills.assign(graph.task_count(), us(10));
  GraphTimes times = graph;
  times.duration[kernels[0]] = us(30);
  times.gap[launch_b] = us(3);
  times.edge_lag[0] = us(4);
  times.fills[kernels[0]] = us(20);
  const auto run = simulate(graph, times, {});
  EXPECT_EQ(run_of(graph).start[kernels[1]], us(12));  // 2, and 10 that the first keeps it out

  static_cast<GraphTimes&>(graph) = times;
  const auto wanted = run_of(graph);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->start[kernels[1]], us(24));
  EXPECT_EQ(run->end[kernels[0]], us(34));
  EXPECT_EQ(run->start[launch_b], us(8));
  EXPECT_EQ(run->start, wanted.start);
  EXPECT_EQ(run->end, wanted.end);
  EXPECT_EQ(run->cause, wanted.cause);
}

// ---- rooms --------------------------------------------------------------------------------------

/// Streams of one kernel each, which could start at `ready` and keep others out for `fills`.
struct RoomCase {
  Time ready, duration, fills;
  bool needs = true;
};
Run run_in_room(const std::vector<RoomCase>& cases) {
  GraphBuilder b;
  std::vector<Time> release;
  for (const RoomCase& c : cases) {
    b.add_processor(kStream, 0, 7 + static_cast<std::int64_t>(release.size()));
    b.add_task(TaskKind::kCompute, 0, c.duration, Time{});
    release.push_back(c.ready);
  }
  Graph g = std::move(b).build();
  for (const RoomCase& c : cases) {
    g.room.push_back(c.needs ? 0 : kNoRoom);
    g.fills.push_back(c.fills);
  }
  return run_of(g, release);
}

TEST(EngineRooms, TasksAreLetInAsTheyComeOnceThereIsSpace) {
  // The second comes while the first fills the room, the third before the second is in.
  const auto run =
      run_in_room({{us(0), us(60), us(50)}, {us(10), us(30), us(20)}, {us(20), us(5), us(0)}});
  EXPECT_EQ(run.start[1], us(50));
  EXPECT_EQ(run.end[1], us(80));
  EXPECT_EQ(run.start[2], us(70));
  EXPECT_EQ(run.cause[1], 0u);
  EXPECT_EQ(run.cause[2], 1u);
}

TEST(EngineRooms, WhatFillsNothingOrNeedsNothingIsInNobodysWay) {
  const auto run = run_in_room({{us(0), us(60), us(0)},
                                {us(10), us(30), us(0)},
                                {us(0), us(90), us(90)},
                                {us(20), us(5), us(0), false}});
  EXPECT_EQ(run.start[3], us(20));  // whatever is full
  EXPECT_EQ(run.start[1], us(90));
  const auto empty = run_in_room({{us(0), us(60), us(0)}, {us(10), us(30), us(0)}});
  EXPECT_EQ(empty.start[1], us(10));
}

TEST(EngineRooms, WhoComesIsDecidedWhileRunning) {
  // A sync that ends later makes its thread's kernel come later: the other is in first.
  for (const std::int64_t waited : {5, 500}) {
    GraphBuilder b;
    b.add_processor(kThread, 0, 1);
    const TaskId sync = b.add_task(TaskKind::kSync, 0, us(1), us(0));
    const TaskId launch = b.add_task(TaskKind::kLaunch, 0, us(1), us(0));
    const auto copies = b.add_processor(kStream, 0, 6);
    b.add_task(TaskKind::kCopy, 0, us(waited), us(0));
    b.add_processor(kStream, 0, 7);
    const TaskId ours = b.add_task(TaskKind::kCompute, 0, us(100), us(0));
    b.add_processor(kStream, 0, 8);
    const TaskId other = b.add_task(TaskKind::kCompute, 0, us(100), us(0));
    b.add_edge({launch, ours, us(0), EdgeKind::kLaunch, true});
    b.add_wait(sync, {copies}, us(0));
    Graph g = std::move(b).build();
    g.room.assign(g.task_count(), kNoRoom);
    g.fills.assign(g.task_count(), Time{});
    for (const TaskId t : {ours, other}) {
      g.room[t] = 0;
      g.fills[t] = us(80);
    }
    std::vector<Time> release(g.task_count(), Time{});
    release[other] = us(50);
    const auto run = run_of(g, release);
    EXPECT_EQ(run.start[ours], waited == 5 ? us(5) : us(500));
    EXPECT_EQ(run.start[other], waited == 5 ? us(85) : us(50));
  }
}

TEST(Engine, AnEmptyGraphTakesNoTime) {
  const auto run = run_of(GraphBuilder().build());
  EXPECT_EQ(run.makespan, Time{});
  EXPECT_TRUE(run.start.empty());
}

TEST(Engine, GapsMayBeNegative) {
  GraphBuilder b;
  b.add_processor(kStream, 0, 7);
  b.add_task(TaskKind::kCompute, 0, us(20), us(3));  // a first task's gap follows nothing
  b.add_task(TaskKind::kCompute, 0, us(4), us(6));
  b.add_task(TaskKind::kCompute, 0, us(4), us(-2));  // programmatic dependent launch
  const auto run = run_of(std::move(b).build());
  EXPECT_EQ(run.start, (std::vector<Time>{us(0), us(26), us(28)}));
  EXPECT_EQ(run.makespan, us(32));
}

struct EdgeCase {
  EdgeKind kind;
  bool from_start;
  std::int64_t lag_us;
  std::int64_t start_us;  ///< of the target; the source runs from 10 to 30
};
class EngineEdge : public testing::TestWithParam<EdgeCase> {};

TEST_P(EngineEdge, HoldsItsTarget) {
  GraphBuilder b;
  b.add_processor(kStream, 0, 1);
  const TaskId source = b.add_task(TaskKind::kCompute, 0, us(20), us(0));
  b.add_processor(kStream, 0, 2);
  const TaskId target = b.add_task(TaskKind::kCompute, 0, us(1), us(0));
  b.add_edge({source, target, us(GetParam().lag_us), GetParam().kind, GetParam().from_start});
  const auto run = run_of(std::move(b).build(), {us(10), us(0)});
  EXPECT_EQ(run.start[target], us(GetParam().start_us));
  EXPECT_EQ(run.cause[target], GetParam().start_us > 0 ? source : kNoTask);
}

std::vector<EdgeCase> edge_cases() {
  std::vector<EdgeCase> cases;
  for (int k = 0; k < kEdgeKindCount; ++k) {
    const auto kind = static_cast<EdgeKind>(k);
    cases.insert(cases.end(), {{kind, false, 0, 30},
                               {kind, false, 4, 34},
                               {kind, false, -4, 26},
                               {kind, false, -90, 0},
                               {kind, true, 0, 10},
                               {kind, true, 5, 15},
                               {kind, true, -3, 7}});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Kinds, EngineEdge, testing::ValuesIn(edge_cases()), [](const auto& param) {
  const EdgeCase& c = param.param;
  return std::string(edge_kind_name(c.kind)) + (c.from_start ? "_start" : "_end") +
         (c.lag_us < 0 ? "_minus" : "_plus") + std::to_string(std::abs(c.lag_us));
});

TEST(Engine, TheLowestTaskIsTheCauseAmongEquals) {
  GraphBuilder b;
  for (int i = 0; i < 3; ++i) {
    b.add_processor(kStream, 0, i);
    b.add_task(TaskKind::kCompute, 0, us(10), us(0));
  }
  b.add_processor(kStream, 0, 3);
  const TaskId target = b.add_task(TaskKind::kCompute, 0, us(1), us(0));
  for (const TaskId source : {2u, 0u, 1u}) {
    b.add_edge({source, target, us(0), EdgeKind::kEvent, false});
  }
  EXPECT_EQ(run_of(std::move(b).build()).cause[target], 0u);
}

TEST(Engine, NothingStartsBeforeItsRelease) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 0);
  b.add_task(TaskKind::kOperator, 0, us(5), us(0));
  b.add_task(TaskKind::kOperator, 0, us(5), us(0));
  b.add_task(TaskKind::kOperator, 0, us(5), us(0));
  const Graph g = std::move(b).build();
  const auto run = run_of(g, {us(-50), Time::min(), us(10)});
  EXPECT_EQ(run.start, (std::vector<Time>{us(-50), us(-45), us(10)}));
  EXPECT_EQ(run.cause[1], 0u);
  EXPECT_EQ(run.cause[2], kNoTask);
  EXPECT_EQ(run.makespan, us(15));
  const auto zero = run_of(g);
  EXPECT_EQ(zero.start, (std::vector<Time>{us(0), us(5), us(10)}));
}

// ---- collectives --------------------------------------------------------------------------------

/// One stream a rank: work, then a collective of 10 us.
struct Collective {
  GraphBuilder builder;
  std::vector<TaskId> arrival, transfer;
  TaskId hub = 0;

  explicit Collective(const std::vector<std::int64_t>& work_us) {
    for (std::size_t r = 0; r < work_us.size(); ++r) {
      builder.add_processor(kStream, static_cast<std::int32_t>(r), 20);
      builder.add_task(TaskKind::kCompute, 0, us(work_us[r]), us(0));
      arrival.push_back(builder.add_task(TaskKind::kArrival, 0, us(0), us(0)));
      transfer.push_back(builder.add_task(TaskKind::kTransfer, 0, us(10), us(0)));
    }
    builder.add_processor(kHub, -1, 0);
    hub = builder.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
    for (std::size_t r = 0; r < work_us.size(); ++r) {
      builder.add_edge({arrival[r], hub, us(0), EdgeKind::kRendezvous, false});
      builder.add_edge({hub, transfer[r], us(0), EdgeKind::kRendezvous, false});
    }
  }
};

TEST(Engine, ACollectiveEndsForAllAfterTheLastHasArrived) {
  Collective c({5, 42, 17});
  const auto run = run_of(std::move(c.builder).build());
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(run.end[c.transfer[r]], us(52));
    EXPECT_EQ(run.start[c.transfer[r]], us(42));
  }
  EXPECT_EQ(run.start[c.arrival[0]], us(5));
  EXPECT_EQ(run.start[c.hub], us(42));
  EXPECT_EQ(run.cause[c.hub], c.arrival[1]);
  EXPECT_EQ(run.cause[c.transfer[0]], c.hub);
  EXPECT_EQ(run.makespan, us(52));
}

TEST(Engine, HubsDoNotWaitForEachOther) {
  GraphBuilder b;
  b.add_processor(kStream, 0, 0);
  b.add_task(TaskKind::kArrival, 0, us(0), us(0));
  b.add_processor(kStream, 1, 0);
  b.add_task(TaskKind::kArrival, 0, us(0), us(0));
  b.add_processor(kHub, -1, 0);
  const TaskId first = b.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
  const TaskId second = b.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
  b.add_edge({0, first, us(90), EdgeKind::kRendezvous, false});
  b.add_edge({1, second, us(0), EdgeKind::kRendezvous, false});
  const auto run = run_of(std::move(b).build());
  EXPECT_EQ(run.start[first], us(90));
  EXPECT_EQ(run.start[second], us(0));
}

// ---- runtime waits ------------------------------------------------------------------------------

/// Two threads launch on one stream; thread 1 also waits for it.
struct TwoThreads {
  GraphBuilder builder;
  TaskId sync = 0, kernel_1 = 0, kernel_2 = 0;

  /// Thread 1 launches at 0 and waits from 10; thread 2 launches at `second_us`.
  TwoThreads(std::int64_t second_us, Time lag, Time least) {
    builder.add_processor(kThread, 0, 1);
    const TaskId launch_1 = builder.add_task(TaskKind::kLaunch, 0, us(10), us(0));
    sync = builder.add_task(TaskKind::kSync, 0, least, us(0));
    builder.add_processor(kThread, 0, 2);
    builder.add_task(TaskKind::kOperator, 0, us(second_us), us(0));
    const TaskId launch_2 = builder.add_task(TaskKind::kLaunch, 0, us(4), us(0));
    const auto stream = builder.add_processor(kStream, 0, 7);
    kernel_1 = builder.add_task(TaskKind::kCompute, 0, us(20), us(0));
    kernel_2 = builder.add_task(TaskKind::kCompute, 0, us(30), us(0));
    builder.set_launcher(kernel_1, launch_1);
    builder.set_launcher(kernel_2, launch_2);
    builder.add_edge({launch_1, kernel_1, us(5), EdgeKind::kLaunch, true});
    builder.add_edge({launch_2, kernel_2, us(5), EdgeKind::kLaunch, true});
    builder.add_wait(sync, {stream}, lag);
  }
};

TEST(EngineWaits, CountWhatAnotherThreadPutOnTheStreamBefore) {
  TwoThreads t(9, us(0), us(0));
  const auto run = run_of(std::move(t.builder).build());
  EXPECT_EQ(run.end[t.sync], us(55));  // 5 + 20 + 30
  EXPECT_EQ(run.cause[t.sync], t.kernel_2);
}

TEST(EngineWaits, CountWhatWasPutAtTheSameInstant) {
  TwoThreads t(10, us(0), us(0));
  EXPECT_EQ(run_of(std::move(t.builder).build()).end[t.sync], us(55));
}

TEST(EngineWaits, DoNotCountWhatAnotherThreadPutsLater) {
  TwoThreads t(11, us(0), us(0));
  const auto run = run_of(std::move(t.builder).build());
  EXPECT_EQ(run.end[t.sync], us(25));
  EXPECT_EQ(run.cause[t.sync], t.kernel_1);
  EXPECT_EQ(run.end[t.kernel_2], us(55));
}

TEST(EngineWaits, EndTheirLagAfterTheWork) {
  TwoThreads t(11, us(3), us(1));
  EXPECT_EQ(run_of(std::move(t.builder).build()).end[t.sync], us(28));
}

TEST(EngineWaits, LastAtLeastTheirDuration) {
  TwoThreads t(11, us(3), us(40));
  const auto run = run_of(std::move(t.builder).build());
  EXPECT_EQ(run.end[t.sync], us(50));
  EXPECT_NE(run.cause[t.sync], t.kernel_1);
}

TEST(EngineWaits, WorkFromBeforeTheRecordingCounts) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId sync = b.add_task(TaskKind::kSync, 0, us(1), us(0));
  const auto stream = b.add_processor(kStream, 0, 7);
  b.add_task(TaskKind::kCompute, 0, us(20), us(0));
  const auto idle = b.add_processor(kStream, 0, 8);
  b.add_wait(sync, {stream, idle}, us(0));
  EXPECT_EQ(run_of(std::move(b).build()).end[sync], us(20));
}

TEST(EngineWaits, OnIdleStreamsTheyTakeTheirDuration) {
  TwoThreads t(11, us(3), us(2));
  const Graph g = [&] {
    GraphBuilder& b = t.builder;
    b.add_processor(kThread, 0, 3);
    const TaskId early = b.add_task(TaskKind::kSync, 0, us(2), us(0));
    b.add_wait(early, {2}, us(3));  // reached at 0, with the first launch: that one counts
    return std::move(b).build();
  }();
  auto run = run_of(g, std::vector<Time>(g.task_count(), Time{}));
  EXPECT_EQ(run.end.back(), us(28));
  // Reached before anything was put on the stream.
  std::vector<Time> release(g.task_count(), Time{});
  release.back() = us(-1);
  run = run_of(g, release);
  EXPECT_EQ(run.end.back(), us(1));
}

TEST(EngineWaits, AFixedSourceIsWaitedForWhateverElseIsOnItsStream) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId sync = b.add_task(TaskKind::kSync, 0, us(1), us(0));
  const TaskId after = b.add_task(TaskKind::kOperator, 0, us(1), us(2));
  b.add_processor(kStream, 0, 7);
  const TaskId first = b.add_task(TaskKind::kCompute, 0, us(20), us(0));
  b.add_task(TaskKind::kCompute, 0, us(70), us(0));
  b.add_wait(sync, {first | kFixedSource}, us(4));
  const auto run = run_of(std::move(b).build());
  EXPECT_EQ(run.end[sync], us(24));
  EXPECT_EQ(run.cause[sync], first);
  EXPECT_EQ(run.start[after], us(26));
  EXPECT_EQ(run.cause[after], sync);
}

TEST(EngineWaits, SeveralSourcesHoldUntilTheLast) {
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId sync = b.add_task(TaskKind::kSync, 0, us(1), us(0));
  std::vector<std::uint32_t> sources;
  for (const std::int64_t length : {12, 31, 25}) {
    sources.push_back(b.add_processor(kStream, 0, length));
    b.add_task(TaskKind::kCompute, 0, us(length), us(0));
  }
  b.add_wait(sync, sources, us(2));
  const auto run = run_of(std::move(b).build());
  EXPECT_EQ(run.end[sync], us(33));
  EXPECT_EQ(run.cause[sync], 2u);
}

TEST(EngineWaits, ASourceThatHangsOnAnotherRankHoldsToo) {
  // Rank 0 waits from 1 for a collective that rank 1 joins only after its own wait for 50 us of
  // work.
  GraphBuilder b;
  b.add_processor(kThread, 0, 1);
  const TaskId launch_0 = b.add_task(TaskKind::kLaunch, 0, us(1), us(0));
  const TaskId sync_0 = b.add_task(TaskKind::kSync, 0, us(0), us(0));
  b.add_processor(kThread, 1, 1);
  const TaskId sync_1 = b.add_task(TaskKind::kSync, 0, us(0), us(5));
  const TaskId launch_1 = b.add_task(TaskKind::kLaunch, 0, us(1), us(0));
  const auto stream_0 = b.add_processor(kStream, 0, 7);
  const TaskId arrival_0 = b.add_task(TaskKind::kArrival, 0, us(0), us(0));
  const TaskId transfer_0 = b.add_task(TaskKind::kTransfer, 0, us(10), us(0));
  const auto stream_1 = b.add_processor(kStream, 1, 7);
  b.add_task(TaskKind::kCompute, 0, us(50), us(0));
  const TaskId arrival_1 = b.add_task(TaskKind::kArrival, 0, us(0), us(0));
  const TaskId transfer_1 = b.add_task(TaskKind::kTransfer, 0, us(10), us(0));
  b.add_processor(kHub, -1, 0);
  const TaskId hub = b.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
  for (const TaskId t : {arrival_0, transfer_0}) b.set_launcher(t, launch_0);
  for (const TaskId t : {arrival_1, transfer_1}) b.set_launcher(t, launch_1);
  b.add_edge({launch_0, arrival_0, us(0), EdgeKind::kLaunch, true});
  b.add_edge({launch_1, arrival_1, us(3), EdgeKind::kLaunch, true});
  b.add_edge({arrival_0, hub, us(0), EdgeKind::kRendezvous, false});
  b.add_edge({arrival_1, hub, us(0), EdgeKind::kRendezvous, false});
  b.add_edge({hub, transfer_0, us(0), EdgeKind::kRendezvous, false});
  b.add_edge({hub, transfer_1, us(0), EdgeKind::kRendezvous, false});
  b.add_wait(sync_0, {stream_0}, us(0));
  b.add_wait(sync_1, {stream_1}, us(0));
  const auto run = run_of(std::move(b).build());
  EXPECT_EQ(run.end[sync_1], us(50));
  EXPECT_EQ(run.start[arrival_1], us(53));
  EXPECT_EQ(run.end[sync_0], us(63));
}

// ---- deadlock -----------------------------------------------------------------------------------

TEST(EngineDeadlock, ARankThatNeverJoins) {
  StringTable names;
  Collective c({5, 7});
  c.builder.expect_arrivals(c.hub, 1);
  Graph g = std::move(c.builder).build();
  g.name[c.hub] = names.intern("all_reduce");
  Deadlock deadlock;
  const auto run = simulate(g, {}, &names, &deadlock);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kNoAnswer);
  EXPECT_EQ(deadlock.unfinished, 3u);  // hub and two transfers
  ASSERT_EQ(deadlock.cycle.size(), 1u);
  EXPECT_EQ(deadlock.cycle[0].task, c.hub);
  EXPECT_EQ(deadlock.cycle[0].waits_for, kNoTask);
  EXPECT_THAT(run.error().what, HasSubstr("all_reduce"));
  EXPECT_THAT(run.error().what, HasSubstr("task " + std::to_string(c.hub)));
  EXPECT_THAT(run.error().what, HasSubstr("never joins"));
  EXPECT_THAT(run.error().what, HasSubstr("ranks 0, 1"));
}

TEST(EngineDeadlock, TwoRanksThatJoinInAnotherOrder) {
  StringTable names;
  GraphBuilder b;
  TaskId arrival[2][2], transfer[2][2];  // [rank][place in its stream]
  const auto x = names.intern("reduce_scatter"), y = names.intern("all_gather");
  for (int r = 0; r < 2; ++r) {
    b.add_processor(kStream, r, 7);
    for (int i = 0; i < 2; ++i) {
      const auto name = (r == i) ? x : y;
      arrival[r][i] = b.add_task(TaskKind::kArrival, name, us(0), us(0));
      transfer[r][i] = b.add_task(TaskKind::kTransfer, name, us(10), us(0));
    }
  }
  b.add_processor(kHub, -1, 0);
  for (int collective = 0; collective < 2; ++collective) {
    const TaskId hub = b.add_task(TaskKind::kRendezvous, collective == 0 ? x : y, us(0), us(0));
    for (int r = 0; r < 2; ++r) {
      const int place = (collective + r) % 2;
      b.add_edge({arrival[r][place], hub, us(0), EdgeKind::kRendezvous, false});
      b.add_edge({hub, transfer[r][place], us(0), EdgeKind::kRendezvous, false});
    }
  }
  const Graph g = std::move(b).build();
  Deadlock deadlock;
  const auto run = simulate(g, {}, &names, &deadlock);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(deadlock.unfinished, 8u);  // all but the first arrival of each rank
  ASSERT_EQ(deadlock.cycle.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const StuckTask& s = deadlock.cycle[i];
    EXPECT_EQ(s.waits_for, deadlock.cycle[(i + 1) % 6].task);
    EXPECT_EQ(s.rank, g.processors[g.processor[s.task]].rank);
  }
  for (const char* part : {"rank 0", "rank 1", "reduce_scatter", "all_gather", "in a circle"}) {
    EXPECT_THAT(run.error().what, HasSubstr(part));
  }
  for (const StuckTask& s : deadlock.cycle) {
    EXPECT_THAT(run.error().what, HasSubstr("task " + std::to_string(s.task)));
  }
}

TEST(EngineDeadlock, AWaitForWorkThatWaitsForTheWaiter) {
  GraphBuilder b;
  b.add_processor(kThread, 4, 1);
  const TaskId sync = b.add_task(TaskKind::kSync, 0, us(0), us(0));
  const TaskId launch = b.add_task(TaskKind::kLaunch, 0, us(1), us(0));
  b.add_processor(kStream, 4, 7);
  const TaskId kernel = b.add_task(TaskKind::kCompute, 0, us(20), us(0));
  b.set_launcher(kernel, launch);
  b.add_edge({launch, kernel, us(0), EdgeKind::kLaunch, true});
  b.add_wait(sync, {kernel | kFixedSource}, us(0));
  Deadlock deadlock;
  const auto run = simulate(std::move(b).build(), {}, nullptr, &deadlock);
  ASSERT_FALSE(run.ok());
  ASSERT_EQ(deadlock.cycle.size(), 3u);
  std::map<TaskId, TaskId> waits_for;
  for (const StuckTask& s : deadlock.cycle) {
    EXPECT_EQ(s.rank, 4);
    waits_for[s.task] = s.waits_for;
  }
  EXPECT_EQ(waits_for,
            (std::map<TaskId, TaskId>{{sync, kernel}, {kernel, launch}, {launch, sync}}));
}

TEST(EngineDeadlock, TasksOutsideTheCircleAreNotNamed) {
  // Task 0 hangs on the circle 1 → 2 → 1 without being part of it.
  GraphBuilder b;
  for (int i = 0; i < 3; ++i) {
    b.add_processor(kStream, i, 7);
    b.add_task(TaskKind::kCompute, 0, us(1), us(0));
  }
  b.add_edge({1, 0, us(0), EdgeKind::kEvent, false});
  b.add_edge({1, 2, us(0), EdgeKind::kEvent, false});
  b.add_edge({2, 1, us(0), EdgeKind::kEvent, false});
  Deadlock deadlock;
  const auto run = simulate(std::move(b).build(), {}, nullptr, &deadlock);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(deadlock.unfinished, 3u);
  ASSERT_EQ(deadlock.cycle.size(), 2u);
  EXPECT_EQ(deadlock.cycle[0].waits_for, deadlock.cycle[1].task);
  EXPECT_EQ(deadlock.cycle[1].waits_for, deadlock.cycle[0].task);
}

TEST(EngineDeadlock, LongCirclesAreCutInTheMessage) {
  GraphBuilder b;
  b.add_processor(kStream, 0, 7);
  for (int i = 0; i < 40; ++i) b.add_task(TaskKind::kCompute, 0, us(1), us(0));
  b.add_edge({39, 0, us(0), EdgeKind::kEvent, false});
  Deadlock deadlock;
  const auto run = simulate(std::move(b).build(), {}, nullptr, &deadlock);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(deadlock.cycle.size(), 40u);
  EXPECT_THAT(run.error().what, HasSubstr("and 28 more"));
}

// ---- against an oracle --------------------------------------------------------------------------
//
// Random programs: threads compute, launch, hand over to each other and wait; streams have events
// and collectives. The oracle is an event queue that scans everything before every event: of all
// tasks whose predecessors have ended it fires the one that starts first (waits after other tasks,
// then by number), and a wait looks at the streams in that very moment.

/// A random source that can be shrunk: numbers drawn from a list, 0 when it is used up.
class Choices {
 public:
  explicit Choices(const std::vector<std::uint16_t>& values) : values_(values) {}
  bool left() const { return at_ < values_.size(); }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
  Time time(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::size_t>(high - low + 1);
    return us(low + static_cast<std::int64_t>(below(span)));
  }

 private:
  std::size_t next() { return at_ < values_.size() ? values_[at_++] : 0u; }
  const std::vector<std::uint16_t>& values_;
  std::size_t at_ = 0;
};

/// A task before numbers are given out: numbers go processor by processor.
struct PlannedTask {
  TaskKind kind = TaskKind::kOperator;
  std::size_t processor = 0;
  Time duration, gap, release;
  std::size_t launcher = kNoTask;
};
struct PlannedEdge {
  std::size_t source, target;
  Time lag;
  EdgeKind kind;
  bool from_start;
};
struct PlannedWait {
  std::size_t task;
  std::vector<std::uint32_t> streams;
  std::vector<std::size_t> tasks;
  Time lag;
};

/// Durations on the GPU are at least 5 us and negative lags at most that: an effect never precedes
/// what started its cause.
constexpr std::int64_t kMostNegative = -5;

class Plan {
 public:
  /// @param knotted with a wait that never ends, somewhere in it
  Plan(Choices& choose, bool knotted) : choose_(choose) {
    ranks_ = 1 + choose_.below(3);
    for (std::size_t r = 0; r < ranks_; ++r) {
      threads_.push_back(add_processors(kThread, r));
      streams_.push_back(add_processors(kStream, r));
    }
    hub_ = processors_.size();
    processors_.push_back({kHub, -1});
    const std::size_t free = knotted ? choose_.below(20) : 60;  // tasks that may be before the knot
    while (choose_.left() && tasks_.size() < free) step();
    if (knotted) knot();
    while (choose_.left() && tasks_.size() < 60) step();
  }

  /// The graph; `edges` as given to the builder, for the oracle.
  Graph build(std::vector<Edge>& edges, std::vector<Time>& release) const {
    std::vector<TaskId> id(tasks_.size());
    GraphBuilder b;
    release.clear();
    for (std::size_t p = 0; p < processors_.size(); ++p) {
      b.add_processor(processors_[p].first, processors_[p].second, static_cast<std::int64_t>(p));
      for (std::size_t t = 0; t < tasks_.size(); ++t) {
        const PlannedTask& task = tasks_[t];
        if (task.processor != p) continue;
        id[t] = b.add_task(task.kind, 0, task.duration, task.gap);
        release.push_back(task.release);
      }
    }
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (tasks_[t].launcher != kNoTask) b.set_launcher(id[t], id[tasks_[t].launcher]);
    }
    for (const PlannedEdge& e : edges_) {
      b.add_edge({id[e.source], id[e.target], e.lag, e.kind, e.from_start});
    }
    for (const PlannedWait& w : waits_) {
      std::vector<std::uint32_t> sources = w.streams;
      for (const std::size_t t : w.tasks) sources.push_back(id[t] | kFixedSource);
      b.add_wait(id[w.task], sources, w.lag);
    }
    edges = b.edges();
    return std::move(b).build();
  }

 private:
  using Places = std::vector<std::size_t>;

  Places add_processors(Processor::Kind kind, std::size_t rank) {
    Places places;
    for (std::size_t n = 1 + choose_.below(2); n-- > 0;) {
      places.push_back(processors_.size());
      processors_.push_back({kind, static_cast<std::int32_t>(rank)});
    }
    return places;
  }
  std::size_t any(const Places& places) { return places[choose_.below(places.size())]; }

  std::size_t task(TaskKind kind, std::size_t processor, Time duration, Time gap) {
    const Time release = choose_.below(12) == 1 ? choose_.time(0, 60) : Time::min();
    tasks_.push_back({kind, processor, duration, gap, release, kNoTask});
    const bool first = std::none_of(tasks_.begin(), tasks_.end() - 1,
                                    [&](const PlannedTask& t) { return t.processor == processor; });
    if (first && release == Time::min()) tasks_.back().release = Time{};
    return tasks_.size() - 1;
  }
  std::size_t host(TaskKind kind, std::size_t thread) {
    return task(kind, thread, choose_.time(0, 8), choose_.time(0, 3));
  }

  void step() {
    const std::size_t rank = choose_.below(ranks_);
    switch (choose_.below(8)) {
      case 0:
        host(TaskKind::kOperator, any(threads_[rank]));
        break;
      case 1:
        hand_over(rank);
        break;
      case 2:
      case 3:
        wait(rank);
        break;
      case 4:
        collective();
        break;
      default:
        kernel(rank);
    }
  }

  /// Whichever task of a rank on any of the processors; none if there is none.
  std::optional<std::size_t> earlier(const Places& processors) {
    Places found;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (std::count(processors.begin(), processors.end(), tasks_[t].processor) > 0)
        found.push_back(t);
    }
    if (found.empty()) return std::nullopt;
    return found[choose_.below(found.size())];
  }

  /// A thread waits for a kernel which it launches afterwards.
  void knot() {
    const std::size_t rank = choose_.below(ranks_);
    const std::size_t thread = any(threads_[rank]);
    const std::size_t sync = host(TaskKind::kSync, thread);
    const std::size_t call = host(TaskKind::kLaunch, thread);
    const std::size_t gpu =
        task(TaskKind::kCompute, any(streams_[rank]), choose_.time(5, 40), choose_.time(0, 4));
    tasks_[gpu].launcher = call;
    edges_.push_back({call, gpu, choose_.time(0, 7), EdgeKind::kLaunch, true});
    waits_.push_back({sync, {}, {gpu}, Time{}});
  }

  void hand_over(std::size_t rank) {
    const auto from = earlier(threads_[rank]);
    const std::size_t to = host(TaskKind::kOperator, any(threads_[rank]));
    if (from) edges_.push_back({*from, to, choose_.time(0, 9), EdgeKind::kThread, false});
  }

  void wait(std::size_t rank) {
    const std::size_t sync = host(TaskKind::kSync, any(threads_[rank]));
    if (choose_.below(8) == 1) return;  // a call of this kind that waits for nothing
    PlannedWait wait{sync, {}, {}, Time{}};
    for (const std::size_t stream : streams_[rank]) {
      if (choose_.below(3) > 0) wait.streams.push_back(static_cast<std::uint32_t>(stream));
    }
    const auto fixed = earlier(streams_[rank]);
    if (fixed && choose_.below(3) == 0) wait.tasks.push_back(*fixed);
    wait.lag = choose_.time(wait.tasks.empty() ? kMostNegative : least_lag(*fixed), 6);
    waits_.push_back(std::move(wait));
  }

  std::size_t kernel(std::size_t rank) {
    const std::size_t stream = any(streams_[rank]);
    const auto before = earlier(streams_[rank]);
    const std::size_t kernel = launched(rank, TaskKind::kCompute, stream, choose_.time(5, 40));
    if (before && choose_.below(2) == 0) {
      const bool from_start = choose_.below(4) == 1;
      edges_.push_back({*before, kernel, choose_.time(from_start ? 0 : least_lag(*before), 6),
                        from_start ? EdgeKind::kOccupancy : EdgeKind::kEvent, from_start});
    }
    return kernel;
  }
  std::int64_t least_lag(std::size_t source) const {
    return tasks_[source].duration >= us(-kMostNegative) ? kMostNegative : 0;
  }

  std::size_t launched(std::size_t rank, TaskKind kind, std::size_t stream, Time duration) {
    std::int64_t least_gap = 0;
    for (std::size_t t = tasks_.size(); t-- > 0;) {
      if (tasks_[t].processor != stream) continue;
      least_gap = least_lag(t);
      break;
    }
    const std::size_t gpu = task(kind, stream, duration, choose_.time(least_gap, 4));
    if (choose_.below(10) == 1) return gpu;  // launched before the recording
    const std::size_t call = host(TaskKind::kLaunch, any(threads_[rank]));
    tasks_[gpu].launcher = call;
    edges_.push_back({call, gpu, choose_.time(0, 7), EdgeKind::kLaunch, choose_.below(4) > 0});
    return gpu;
  }

  void collective() {
    const std::size_t hub = task(TaskKind::kRendezvous, hub_, Time{}, Time{});
    for (std::size_t r = 0; r < ranks_; ++r) {
      const std::size_t stream = any(streams_[r]);
      const std::size_t arrival = launched(r, TaskKind::kArrival, stream, Time{});
      const std::size_t transfer = task(TaskKind::kTransfer, stream, choose_.time(5, 20), Time{});
      tasks_[transfer].launcher = tasks_[arrival].launcher;
      edges_.push_back({arrival, hub, Time{}, EdgeKind::kRendezvous, false});
      edges_.push_back({hub, transfer, Time{}, EdgeKind::kRendezvous, false});
    }
  }

  Choices& choose_;
  std::size_t ranks_ = 1;
  std::size_t hub_ = 0;
  std::vector<std::pair<Processor::Kind, std::int32_t>> processors_;
  std::vector<Places> threads_, streams_;
  std::vector<PlannedTask> tasks_;
  std::vector<PlannedEdge> edges_;
  std::vector<PlannedWait> waits_;
};

/// A constraint on a task's start.
struct Constraint {
  TaskId source;
  Time lag;
  bool from_start;
};
std::vector<std::vector<Constraint>> constraints_of(const Graph& g,
                                                    const std::vector<Edge>& edges) {
  std::vector<std::vector<Constraint>> all(g.task_count());
  for (const Edge& e : edges) all[e.target].push_back({e.source, e.lag, e.from_start});
  for (const Processor& p : g.processors) {
    if (p.kind == kHub) continue;
    for (TaskId t = p.first + 1; t < p.last; ++t) all[t].push_back({t - 1, g.gap[t], false});
  }
  return all;
}

class Oracle {
 public:
  Oracle(const Graph& g, const std::vector<Edge>& edges, const std::vector<Time>& release)
      : g_(g),
        before_(constraints_of(g, edges)),
        release_(release),
        fired_(g.task_count(), false),
        start(g.task_count()),
        end(g.task_count()),
        waited_for(g.task_count()) {}

  void run() {
    while (const auto next = first_event()) {
      fire(*next);
      end_waits();
    }
  }

 private:
  std::optional<Time> start_of(TaskId t) const {
    Time at = release_[t];
    for (const Constraint& c : before_[t]) {
      if (!end[c.source]) return std::nullopt;
      at = std::max(at, (c.from_start ? *start[c.source] : *end[c.source]) + c.lag);
    }
    return at;
  }
  const RuntimeWait* wait_of(TaskId t) const {
    for (const RuntimeWait& w : g_.waits) {
      if (w.task == t) return &w;
    }
    return nullptr;
  }
  std::optional<TaskId> first_event() const {
    std::optional<std::tuple<Time, bool, TaskId>> best;
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      const auto at = fired_[t] ? std::nullopt : start_of(t);
      if (!at) continue;
      const std::tuple event{*at, wait_of(t) != nullptr, t};
      if (!best || event < *best) best = event;
    }
    if (!best) return std::nullopt;
    return std::get<2>(*best);
  }

  void fire(TaskId t) {
    start[t] = start_of(t);
    fired_[t] = true;
    const RuntimeWait* wait = wait_of(t);
    if (!wait) {
      end[t] = *start[t] + g_.duration[t];
      return;
    }
    for (std::uint32_t s = wait->first_source; s < wait->last_source; ++s) {
      const std::uint32_t source = g_.wait_sources[s];
      if ((source & kFixedSource) != 0) {
        waited_for[t].push_back(source & ~kFixedSource);
      } else if (const auto last = last_put(source)) {
        waited_for[t].push_back(*last);
      }
    }
  }
  std::optional<TaskId> last_put(std::uint32_t stream) const {
    std::optional<TaskId> last;
    for (TaskId t = g_.processors[stream].first; t < g_.processors[stream].last; ++t) {
      if (g_.launcher[t] != kNoTask && !fired_[g_.launcher[t]]) break;
      last = t;
    }
    return last;
  }

  void end_waits() {
    for (bool changed = true; changed;) {
      changed = false;
      for (TaskId t = 0; t < g_.task_count(); ++t) {
        if (!fired_[t] || end[t]) continue;
        Time at = *start[t] + g_.duration[t];
        bool over = true;
        for (const TaskId s : waited_for[t]) {
          over = over && end[s].has_value();
          if (end[s]) at = std::max(at, *end[s] + wait_of(t)->lag);
        }
        if (!over) continue;
        end[t] = at;
        changed = true;
      }
    }
  }

  const Graph& g_;
  std::vector<std::vector<Constraint>> before_;
  std::vector<Time> release_;
  std::vector<bool> fired_;

 public:
  std::vector<std::optional<Time>> start, end;
  std::vector<std::vector<TaskId>> waited_for;
};

/// Whether the constraint of a task's cause is what its times hang on.
void check_cause(const Graph& g, const std::vector<Edge>& edges, const std::vector<Time>& release,
                 const Oracle& oracle, const Run& run) {
  const auto before = constraints_of(g, edges);
  for (TaskId t = 0; t < g.task_count(); ++t) {
    const TaskId cause = run.cause[t];
    if (cause == kNoTask) {
      RC_ASSERT(run.start[t] == release[t]);
      continue;
    }
    bool tight = false;
    for (const Constraint& c : before[t]) {
      const Time from = c.from_start ? run.start[c.source] : run.end[c.source];
      tight = tight || (c.source == cause && run.start[t] == from + c.lag);
    }
    for (const TaskId source : oracle.waited_for[t]) {
      for (const RuntimeWait& w : g.waits) {
        if (w.task == t && source == cause) tight = tight || run.end[t] == run.end[source] + w.lag;
      }
    }
    RC_ASSERT(tight);
  }
}

/// What random programs came to.
struct Outcomes {
  int programs = 0, deadlocks = 0;
  int blocked = 0;  ///< tasks that took longer than their work
};

void compare_with_oracle(const std::vector<std::uint16_t>& numbers, bool knotted, Outcomes& count) {
  Choices choices(numbers);
  const Plan plan(choices, knotted);
  std::vector<Edge> edges;
  std::vector<Time> release;
  const Graph g = plan.build(edges, release);
  Oracle oracle(g, edges, release);
  oracle.run();
  const auto ended =
      std::count_if(oracle.end.begin(), oracle.end.end(), [](auto& e) { return !!e; });

  Deadlock deadlock;
  const auto run = simulate(g, release, nullptr, &deadlock);
  ++count.programs;
  RC_ASSERT(run.ok() == (static_cast<std::size_t>(ended) == g.task_count()));
  if (!run.ok()) {
    ++count.deadlocks;
    RC_ASSERT(deadlock.unfinished == g.task_count() - static_cast<std::size_t>(ended));
    const std::size_t n = deadlock.cycle.size();
    for (std::size_t i = 0; i < n; ++i) {
      RC_ASSERT(!oracle.end[deadlock.cycle[i].task]);
      RC_ASSERT(deadlock.cycle[i].waits_for == deadlock.cycle[(i + 1) % n].task);
    }
    return;
  }
  Time last = g.task_count() == 0 ? Time{} : Time::min();
  for (TaskId t = 0; t < g.task_count(); ++t) {
    RC_ASSERT(run->start[t] == *oracle.start[t]);
    RC_ASSERT(run->end[t] == *oracle.end[t]);
    last = std::max(last, run->end[t]);
    if (run->end[t] > run->start[t] + g.duration[t]) ++count.blocked;
  }
  RC_ASSERT(run->makespan == std::max(last, Time{}));
  check_cause(g, edges, release, oracle, *run);
}

Outcomes compare_many(int programs, bool knotted) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = programs;
  Outcomes count;
  const auto result = rc::detail::checkTestable(
      [&] {
        const auto numbers = *rc::gen::scale(6.0, rc::gen::container<std::vector<std::uint16_t>>(
                                                      rc::gen::inRange<std::uint16_t>(0, 5040)));
        compare_with_oracle(numbers, knotted, count);
      },
      rc::detail::TestMetadata(), params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << text.str();
  return count;
}

TEST(EngineOracle, TimesAreThoseOfAnEventQueue) {
  const Outcomes count = compare_many(10000, false);
  EXPECT_GT(count.blocked, 1000);  // the programs do what they are for
}

TEST(EngineOracle, DeadlocksAreThoseOfAnEventQueue) {
  const Outcomes count = compare_many(1000, true);
  EXPECT_GE(count.programs, 1000);
  EXPECT_EQ(count.deadlocks, count.programs);
}

}  // namespace
}  // namespace flopcast::engine
