// A small training run of two ranks, replayed whole: timeline, steps, critical path, transplant,
// damage.
#include "flopcast/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;
using testing::HasSubstr;

using test::us;

/// One step of 1 ms from `at`:
///   us     10      30          60  65     80               505  510     890 900
///   host   launch  all_reduce  wait launch deviceSynchronize    log
///   7        gemm 20-220 (rank 1: -280)            adam 402-500
///   20                         ncclAllReduce 222 (rank 1: 282)-400
/// Launches take 10 us, events 2 us, the sync returns 5 us after the work.
void add_step(TraceText& text, int rank, int number, double at, int more_launches = 0) {
  const std::int64_t id = 100 * number;
  const double ready = rank == 0 ? 220 : 280;
  text.step(number, at, at + 900);
  text.launch(at + 10, at + 15, id + 1).kernel("gemm", at + 20, at + ready, 7, id + 1);
  text.op("nccl:all_reduce", at + 30, at + 50)
      .call("cudaEventRecord", at + 31, at + 32)
      .call("cudaStreamWaitEvent", at + 33, at + 34)
      .launch(at + 35, at + 38, id + 2)
      .call("cudaEventRecord", at + 39, at + 40)
      .call("cudaStreamWaitEvent", at + 41, at + 42);
  text.collective(at + ready + 2, at + 400, 20, id + 2, number);
  text.call("cudaStreamWaitEvent", at + 60, at + 61);
  text.launch(at + 65, at + 70, id + 3).kernel("adam", at + 402, at + 500, 7, id + 3);
  for (int i = 0; i < more_launches; ++i) text.call("cudaEventRecord", at + 72 + i, at + 72.5 + i);
  text.call("cudaDeviceSynchronize", at + 80, at + 505).op("log", at + 510, at + 890);
}

TraceText training(int steps = 3, const std::map<int, int>& more_launches = {}) {
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r);
    for (int i = 0; i < steps; ++i) {
      const auto more = more_launches.find(i);
      add_step(text, r, i, 1000 * i, more == more_launches.end() ? 0 : more->second);
    }
  }
  return text;
}

Replay replay_of(const TraceSet& set, const ReplayOptions& options = {}) {
  Result<Replay> replayed = replay(set, options);
  EXPECT_TRUE(replayed.ok()) << (replayed.ok() ? "" : replayed.error().text());
  return replayed.ok() ? std::move(*replayed) : Replay{};
}

std::vector<std::uint32_t> rows_named(const TraceSet& set, std::size_t trace,
                                      std::string_view name) {
  std::vector<std::uint32_t> rows;
  const Events& ev = set.traces[trace].events;
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (set.strings[ev.name[r]].starts_with(name)) rows.push_back(r);
  }
  return rows;
}

TEST(Replay, TypicalLagsGiveARegularRunBack) {
  const TraceSet set = training().read();
  const Replay r = replay_of(set);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t row = 0; row < set.traces[i].events.size(); ++row) {
      const auto name = set.strings[set.traces[i].events.name[row]];
      EXPECT_EQ(r.replayed.start[i][row], r.recorded.start[i][row]) << name << " of rank " << i;
      EXPECT_EQ(r.replayed.end[i][row], r.recorded.end[i][row]) << name << " of rank " << i;
    }
  }
  EXPECT_TRUE(r.late_starts.empty());
  EXPECT_TRUE(r.damage.empty());
  EXPECT_TRUE(r.anomalies.empty());
}

TEST(Replay, EdgesAreCountedByKind) {
  const Replay r = replay_of(training().read());
  std::map<EdgeKind, std::uint64_t> count;
  for (const EdgeCount& e : r.edges) {
    count[e.kind] = e.count;
    EXPECT_EQ(e.contradicted, 0u);
  }
  ASSERT_EQ(r.edges.size(), static_cast<std::size_t>(kEdgeKindCount));
  EXPECT_EQ(count[EdgeKind::kLaunch], 18u);
  EXPECT_EQ(count[EdgeKind::kEvent], 6u);          // gemm → all-reduce
  EXPECT_EQ(count[EdgeKind::kEventInferred], 6u);  // all-reduce → adam
  EXPECT_EQ(count[EdgeKind::kSync], 12u);          // two streams
  EXPECT_EQ(count[EdgeKind::kRendezvous], 12u);
  EXPECT_EQ(count[EdgeKind::kStream], 14u);
  EXPECT_EQ(count[EdgeKind::kGraph], 0u);
}

TEST(Replay, LagsAreMeasuredByKind) {
  const Replay r = replay_of(training().read());
  for (const Lag& lag : r.lag_table) {
    if (lag.kind == EdgeKind::kLaunch) {
      EXPECT_EQ(lag.typical, us(10));
    } else if (lag.kind == EdgeKind::kEvent || lag.kind == EdgeKind::kEventInferred) {
      EXPECT_EQ(lag.typical, us(2));
    } else if (lag.kind == EdgeKind::kSync) {
      EXPECT_EQ(lag.typical, us(5));
    }
  }
}

TEST(Replay, ZeroLagsMoveWhatHungOnThem) {
  const TraceSet set = training(1).read();
  ReplayOptions options;
  options.lags = LagMode::kZero;
  const Replay r = replay_of(set, options);
  for (std::size_t i = 0; i < 2; ++i) {
    const StepResult& step = r.steps[i].at(0);
    // 2 us each before the collective and after it, 5 us before the sync returns.
    EXPECT_EQ(step.measured_end - step.replayed_end, us(9));
    EXPECT_EQ(step.replayed_start, step.measured_start);
    EXPECT_EQ(*step.measured_gpu - *step.replayed_gpu, us(4));
    const auto log = rows_named(set, i, "log");
    EXPECT_EQ(r.recorded.start[i][log[0]] - r.replayed.start[i][log[0]], us(9));
  }
}

TEST(Replay, RecordedLagsGiveTheRecordingBack) {
  const TraceSet set = training().read();
  ReplayOptions options;
  options.lags = LagMode::kRecorded;
  const Replay r = replay_of(set, options);
  EXPECT_EQ(r.replayed.start, r.recorded.start);
  EXPECT_EQ(r.replayed.end, r.recorded.end);
}

TEST(Replay, CollectivesSplitIntoWaitAndTransfer) {
  const TraceSet set = training(1).read();
  const Replay r = replay_of(set);
  ASSERT_EQ(r.collectives.size(), 1u);
  EXPECT_TRUE(r.collectives[0].rendezvous);
  EXPECT_EQ(set.strings[r.collectives[0].name], "allreduce");
  ASSERT_EQ(r.collectives[0].members.size(), 2u);
  const auto& first = r.collectives[0].members[0];
  EXPECT_EQ(first.trace, 0u);
  EXPECT_EQ(first.recorded_wait, us(60));
  EXPECT_EQ(first.recorded_transfer, us(118));
  EXPECT_EQ(first.replayed_wait, us(60));
  EXPECT_EQ(first.replayed_transfer, us(118));
  EXPECT_EQ(r.collectives[0].members[1].recorded_wait, Time{});
}

TEST(Replay, StepsTellHostAndGpuTime) {
  const Replay r = replay_of(training().read());
  ASSERT_EQ(r.steps.at(1).size(), 3u);
  EXPECT_EQ(r.steps[1][1].name, "ProfilerStep#1");
  EXPECT_EQ(r.steps[1][1].measured_end - r.steps[1][1].measured_start, us(900));
  EXPECT_EQ(r.steps[1][1].measured_gpu, us(1000));  // from the last GPU end of the step before
  EXPECT_EQ(r.steps[1][0].measured_gpu, us(500));
  EXPECT_EQ(r.steps[1][1].start_error_median_s, 0);
}

TEST(Replay, TheCriticalPathAddsUpToTheMakespan) {
  for (const LagMode mode : {LagMode::kTypical, LagMode::kZero, LagMode::kRecorded}) {
    const TraceSet set = training().read();
    ReplayOptions options;
    options.lags = mode;
    const Replay r = replay_of(set, options);
    ASSERT_FALSE(r.critical_path.pieces.empty());
    Time sum, first = Time::max(), last;
    for (std::size_t i = 0; i < r.critical_path.pieces.size(); ++i) {
      const PathPiece& piece = r.critical_path.pieces[i];
      EXPECT_LT(piece.start, piece.end);
      if (i > 0) {
        EXPECT_EQ(piece.start, r.critical_path.pieces[i - 1].end);
      }
      sum += piece.end - piece.start;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      for (const std::uint32_t row : rows_named(set, i, "cudaLaunchKernel")) {
        first = std::min(first, r.replayed.start[i][row]);
      }
      for (const std::uint32_t row : rows_named(set, i, "log"))
        last = std::max(last, r.replayed.end[i][row]);
    }
    EXPECT_EQ(r.critical_path.pieces.back().end, last);
    EXPECT_EQ(sum, last - first);
    // The slower gemm, the collective and adam lie on it.
    std::map<std::string, int> on_path;
    for (const PathPiece& piece : r.critical_path.pieces) {
      if (piece.row == kNoDetail) continue;
      const auto name = set.strings[set.traces[piece.trace].events.name[piece.row]];
      ++on_path[fmt::format("{}{}", name.substr(0, 4),
                            name == "gemm" ? fmt::format(" {}", piece.trace) : "")];
    }
    EXPECT_EQ(on_path["gemm 1"], 3);
    EXPECT_EQ(on_path["gemm 0"], 0);
    EXPECT_EQ(on_path["nccl"], 3);
    EXPECT_EQ(on_path["adam"], 3);
  }
}

TEST(Replay, TheCriticalPathIsUnbrokenWhereThingsEndEarly) {
  // A copy from pageable memory returns 90 us before it arrives; it starts 2 us before "ahead"
  // ends.
  const TraceSet set = TraceText()
                           .launch(0, 5, 1)
                           .call("cudaMemcpyAsync", 10, 200, 2)
                           .op("log", 210, 900)
                           .kernel("ahead", 20, 60, 7, 1)
                           .copy("Memcpy HtoD (Pageable -> Device)", 58, 290, 7, 2, 1 << 20)
                           .read();
  const Replay r = replay_of(set);
  ASSERT_FALSE(r.critical_path.pieces.empty());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < r.critical_path.pieces.size(); ++i) {
    const PathPiece& piece = r.critical_path.pieces[i];
    EXPECT_LT(piece.start, piece.end);
    if (i > 0) {
      EXPECT_EQ(piece.start, r.critical_path.pieces[i - 1].end);
    }
    if (piece.row != kNoDetail)
      names.emplace_back(set.strings[set.traces[0].events.name[piece.row]]);
  }
  EXPECT_THAT(names, testing::ElementsAre("cudaLaunchKernel", "ahead",
                                          "Memcpy HtoD (Pageable -> Device)", "log"));
}

TEST(Replay, WhatNothingHoldsFollowsWhatEndedBeforeIt) {
  // Nothing tells why thread 2 begins at 600: thread 1 is at work then. Nor why the kernel does:
  // what launched it was not recorded.
  TraceText text;
  text.op("early", 0, 300).op("middle", 300, 580).op("beside", 580, 1000);
  text.thread(2).op("late", 600, 1500);
  text.kernel("lost", 1100, 1200, 7, 99);
  const TraceSet set = text.read();
  const Replay r = replay_of(set);
  const std::vector<PathPiece>& pieces = r.critical_path.pieces;
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(r.critical_path.window_start, pieces.front().start);
  EXPECT_EQ(pieces.back().end - pieces.front().start, us(1500));
  EXPECT_EQ(pieces[2].row, kNoDetail);
  EXPECT_EQ(pieces[2].end - pieces[2].start, us(20));
  for (const PathPiece& piece : pieces) EXPECT_FALSE(piece.pinned);
  // All of it moves with the first thing of the rank, and with what is shorter before it.
  Replay notes;
  const Recording rec = make_recording(set, 1, notes);
  const std::vector<std::vector<Binding>> bindings{find_bindings(rec, 0)};
  const auto lags = measure_lags(rec, bindings, LagMode::kRecorded);
  Durations durations = recorded_durations(rec);
  durations.ranks[0].piece[0][0] = us(100);  // "early" takes 200 us less
  Assembly assembly = assemble(rec, durations, lags, bindings, Baseline::kNone);
  for (Time& release : assembly.release) {
    if (release > Time::min()) release += us(5000);
  }
  const auto run = simulate(assembly.graph, assembly.release);
  ASSERT_TRUE(run.ok());
  const auto& map = assembly.map.ranks[0];
  EXPECT_EQ(run->start[map.piece_first[0][0]], us(5000));
  EXPECT_EQ(run->start[map.piece_first[1][0]], us(5000 + 600 - 200));
  EXPECT_EQ(run->start[map.gpu_first[0]], us(5000 + 1100 - 200));
}

TEST(Replay, TheCriticalPathCoversTheWindowOfTheRankThatEndsLast) {
  // Rank 1 was recorded from 5.2 ms on; rank 0 waits for it in an all-reduce, and ends last.
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r);
    if (r == 0) text.op("before", 0, 4000);
    const double at = 5000 + 200 * r;
    text.launch(at, at + 5, 7).collective(at + 10, 5500, 20, 7, 0);
    text.call("cudaDeviceSynchronize", 5300, 5505).op("log", 5510, 6000 - 100 * r);
  }
  const TraceSet set = text.read();
  const Replay r = replay_of(set);
  const std::vector<PathPiece>& pieces = r.critical_path.pieces;
  ASSERT_FALSE(pieces.empty());
  EXPECT_EQ(r.critical_path.last_trace, 0u);
  EXPECT_EQ(pieces.front().start, r.critical_path.window_start);
  EXPECT_EQ(pieces.back().end - pieces.front().start, us(6000));
  const auto pinned = std::find_if(pieces.begin(), pieces.end(), [](auto& p) { return p.pinned; });
  ASSERT_NE(pinned, pieces.end());
  EXPECT_EQ(pinned->end - pinned->start, us(190));  // since rank 0 came to the all-reduce
}

TEST(Replay, TracesWithoutAnythingToRunAreRefused) {
  const Result<TraceSet> set = read_trace_text(R"({"traceEvents": [
    {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {}},
    {"ph": "X", "name": "slice", "pid": 1, "tid": 2, "ts": 3, "dur": 9}]})");
  ASSERT_TRUE(set.ok());
  const Result<Replay> r = replay(*set);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(r.error().text(), HasSubstr("nothing to replay here: none of 2 rows"));
}

TEST(Replay, WithoutEventEdgesStreamsRunFree) {
  const TraceSet set = training(1).read();
  ReplayOptions options;
  options.baseline = Baseline::kNoInterStream;
  const Replay r = replay_of(set, options);
  const auto nccl = rows_named(set, 1, "ncclDevKernel")[0];
  EXPECT_EQ(
      r.replayed.start[1][nccl] - r.replayed.start[1][rows_named(set, 1, "cudaLaunchKernel")[1]],
      us(10));
  EXPECT_LT(r.steps[0][0].replayed_end, r.steps[0][0].measured_end);
}

TEST(Replay, EveryBaselineRuns) {
  const TraceSet set = training().read();
  for (const Baseline baseline :
       {Baseline::kSingleStream, Baseline::kNoInterStream, Baseline::kDpro}) {
    ReplayOptions options;
    options.baseline = baseline;
    const Replay r = replay_of(set, options);
    EXPECT_EQ(r.baseline, baseline);
    EXPECT_GT(r.task_count, 0u);
    if (baseline == Baseline::kSingleStream) {
      EXPECT_EQ(r.replayed.end, r.recorded.end);
    }
  }
}

TEST(Replay, SkewedClocksAreTold) {
  TraceText text;
  text.rank(0);
  for (int i = 0; i < 3; ++i) add_step(text, 0, i, 1000 * i);
  text.rank(1, 700);
  for (int i = 0; i < 3; ++i) add_step(text, 1, i, 1000 * i);
  const Replay r = replay_of(text.read());
  ASSERT_EQ(r.clocks.size(), 2u);
  const Time apart = r.clocks[0].rank_offset - r.clocks[1].rank_offset;
  EXPECT_EQ(apart, us(700));
  EXPECT_EQ(r.clock_residual, Time{});
  EXPECT_EQ(r.replayed.end, r.recorded.end);
}

TEST(Replay, WhatNothingExplainsIsPinnedAndListed) {
  TraceText text = training(1);
  text.rank(0).kernel("orphan", 600, 700, 30);
  const TraceSet set = text.read();
  const Replay r = replay_of(set);
  ASSERT_EQ(r.pinned.size(), 1u);
  EXPECT_EQ(r.pinned[0].tasks, 1u);
  EXPECT_THAT(r.pinned[0].what, HasSubstr("neither launch nor predecessor"));
  const auto orphan = rows_named(set, 0, "orphan")[0];
  EXPECT_EQ(r.replayed.start[0][orphan], r.recorded.start[0][orphan]);
}

TEST(Replay, AnnotationsAreNoTasksAndMoveWithTheHost) {
  TraceText text = training(1);
  const TraceSet set = text.rank(0).op("gap", 895, 895).read();
  ReplayOptions options;
  options.lags = LagMode::kZero;
  const Replay r = replay_of(set, options);
  const auto step = rows_named(set, 0, "ProfilerStep")[0];
  EXPECT_EQ(r.recorded.end[0][step] - r.replayed.end[0][step], us(9));
}

TEST(Replay, CpuOnlyTracesReplayToo) {
  const TraceSet set = TraceText().op("a", 0, 10).op("b", 20, 30).read();
  const Replay r = replay_of(set);
  EXPECT_EQ(r.replayed.end, r.recorded.end);
  EXPECT_EQ(r.task_count, 2u);
}

// ---- transplant ---------------------------------------------------------------------------------

TEST(Transplant, StepsOfOneStructureExchangeIt) {
  const TraceSet set = training().read();
  const std::vector<StepMatch> matches = compare_steps(set).pairs;
  ASSERT_EQ(matches.size(), 2u);  // of three alike, the first two
  for (const StepMatch& m : matches) {
    EXPECT_TRUE(m.same_structure()) << m.from << " → " << m.to;
    for (const StepMatch::Transfer& t : m.transfer) {
      EXPECT_EQ(t.kept, t.edges) << edge_kind_name(t.kind);
      EXPECT_GT(t.edges, 0u);
    }
    ReplayOptions options;
    options.structure_from = m.from;
    options.durations_from = m.to;
    const Replay r = replay_of(set, options);
    EXPECT_EQ(r.replayed.end, r.recorded.end);
  }
}

TEST(Transplant, OtherCallsAreAnotherStructure) {
  for (const StepMatch& m : compare_steps(training(3, {{1, 4}}).read()).pairs) {
    const bool odd = m.from == "ProfilerStep#1" || m.to == "ProfilerStep#1";
    EXPECT_EQ(m.same_structure(), !odd) << m.from << " → " << m.to;
    if (m.from == "ProfilerStep#1") {
      EXPECT_LT(m.matched_from, 0.99);
      EXPECT_EQ(m.matched_to, 1.0);
    }
  }
}

TEST(StepGroups, StepsWithTheSameCallsAreOneGroup) {
  const StepComparison steps = compare_steps(training(5, {{1, 4}, {3, 4}}).read());
  ASSERT_EQ(steps.groups.size(), 2u);
  EXPECT_THAT(steps.groups[0],
              testing::ElementsAre("ProfilerStep#0", "ProfilerStep#2", "ProfilerStep#4"));
  EXPECT_THAT(steps.groups[1], testing::ElementsAre("ProfilerStep#1", "ProfilerStep#3"));
  // The first two of each: how alike steps of one group are, and how much the groups differ.
  EXPECT_EQ(steps.pairs.size(), 4u * 3u);
}

TEST(StepGroups, WhatIsComparedDoesNotGrowWithTheSteps) {
  std::map<int, int> more;  // every step has calls of its own
  for (int i = 0; i < 100; ++i) more[i] = i;
  const StepComparison other = compare_steps(training(100, more).read());
  EXPECT_EQ(other.groups.size(), 100u);
  const std::size_t most = StepComparison::kMostCompared * (StepComparison::kMostCompared - 1);
  EXPECT_EQ(other.pairs.size(), most);
  const StepComparison same = compare_steps(training(400).read());
  ASSERT_EQ(same.groups.size(), 1u);
  EXPECT_EQ(same.groups[0].size(), 400u);
  EXPECT_EQ(same.pairs.size(), 2u);
}

TEST(Transplant, AnotherStepsStructureComesAlong) {
  // Step 1 was recorded without the wait for the collective: adam ran beside it. With the structure
  // of step 0 it would have waited.
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r);
    for (const int i : {0, 2}) add_step(text, r, i, 1000 * i);
    text.step(1, 1000, 1900);
    text.launch(1010, 1015, 101).kernel("gemm", 1020, 1220, 7, 101);
    text.op("nccl:all_reduce", 1030, 1050)
        .call("cudaEventRecord", 1031, 1032)
        .call("cudaStreamWaitEvent", 1033, 1034)
        .launch(1035, 1038, 102)
        .call("cudaEventRecord", 1039, 1040)
        .call("cudaStreamWaitEvent", 1041, 1042);
    text.collective(1222, 1400, 20, 102, 1);
    text.launch(1065, 1070, 103).kernel("adam", 1220, 1318, 7, 103);
    text.call("cudaDeviceSynchronize", 1080, 1405).op("log", 1410, 1890);
  }
  const TraceSet set = text.read();
  ReplayOptions options;
  options.structure_from = "0";
  options.durations_from = "ProfilerStep#1";
  const Replay r = replay_of(set, options);
  const auto adam = rows_named(set, 0, "adam")[1];
  const auto nccl = rows_named(set, 0, "ncclDevKernel")[1];
  EXPECT_LT(r.recorded.start[0][adam], r.recorded.end[0][nccl]);
  EXPECT_GE(r.replayed.start[0][adam], r.replayed.end[0][nccl]);
}

TEST(Transplant, UnknownStepsAreNamed) {
  const TraceSet set = training().read();
  ReplayOptions options;
  options.structure_from = "7";
  options.durations_from = "1";
  auto r = replay(set, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  EXPECT_THAT(r.error().text(), HasSubstr("no step 7"));
  EXPECT_THAT(r.error().text(), HasSubstr("ProfilerStep#0, ProfilerStep#1, ProfilerStep#2"));
  options.durations_from.reset();
  r = replay(set, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
}

// ---- damage -------------------------------------------------------------------------------------

TEST(Damage, AnIdleGpuWhileWorkWaits) {
  // Every tenth kernel starts 2 ms after its launch and nothing runs meanwhile.
  const auto trace = [](bool held_up) {
    TraceText text;
    for (int i = 0; i < 50; ++i) {
      const double at = 3000 * i;
      const double wait = held_up && i % 10 == 9 ? 2000 : 10;
      text.launch(at, at + 5, i + 1).kernel("k", at + wait, at + wait + 100, 7, i + 1);
    }
    return text.read();
  };
  const Replay damaged = replay_of(trace(true));
  ASSERT_EQ(damaged.damage.size(), 1u);
  EXPECT_THAT(damaged.damage[0], HasSubstr("rank 0: the GPU is idle for"));
  EXPECT_EQ(damaged.late_starts.size(), 5u);
  EXPECT_TRUE(replay_of(trace(false)).damage.empty());
}

TEST(Damage, WorkThatNothingLaunchedAndNothingPrecedes) {
  const auto trace = [](int loose) {
    TraceText text;
    for (int i = 0; i < 10; ++i) {
      const double at = 100 * i;
      const std::int64_t id = i < loose ? 0 : i + 1;
      if (id != 0) text.launch(at, at + 5, id);
      text.kernel("k", at + 10, at + 60, 7 + i, id);
    }
    return text.read();
  };
  const Replay damaged = replay_of(trace(6));
  ASSERT_EQ(damaged.damage.size(), 1u);
  EXPECT_THAT(damaged.damage[0],
              HasSubstr("rank 0: 6 of 10 GPU tasks have neither a launch nor a predecessor"));
  EXPECT_TRUE(replay_of(trace(5)).damage.empty());
}

TEST(Damage, GraphLaunchesWithoutKernels) {
  const auto trace = [](bool recorded) {
    TraceText text;
    for (int i = 0; i < 6; ++i) {
      const double at = 1000 * i;
      text.call("cudaGraphLaunch", at, at + 5, 2 * i + 1).launch(at + 10, at + 15, 2 * i + 2);
      if (recorded) text.kernel("in graph", at + 10, at + 300, 7, 2 * i + 1);
      text.kernel("k", at + 400, at + 450, 7, 2 * i + 2);
    }
    return text.read();
  };
  const Replay damaged = replay_of(trace(false));
  ASSERT_FALSE(damaged.damage.empty());
  EXPECT_THAT(damaged.damage.back(), HasSubstr("graph launches have no GPU rows"));
  for (const std::string& text : replay_of(trace(true)).damage)
    EXPECT_THAT(text, Not(HasSubstr("graph launches")));
}

}  // namespace
}  // namespace flopcast::replaying
