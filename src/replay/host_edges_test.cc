// What host threads wait for: the GPU (sync_waits) and each other (thread_edges).
#include "flopcast/replay/host_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;
using testing::HasSubstr;
using List = std::vector<std::uint32_t>;

using test::us;

struct Syncs {
  TraceSet set;
  RankModel model;
  SyncWaits found;
  explicit Syncs(const TraceText& text)
      : set(text.read()),
        model(make_rank_model(set, 0, Time{})),
        found(find_sync_waits(set, model)) {}
};

/// Kernels on streams 7 and 9, launched before 20: they end at 60 and 80.
TraceText two_streams() {
  return TraceText()
      .launch(0, 5, 1)
      .launch(10, 15, 2)
      .kernel("a", 10, 60, 7, 1)
      .kernel("b", 20, 80, 9, 2);
}

TEST(SyncWaits, ADeviceSyncWaitsForAllStreams) {
  const Syncs s(two_streams().call("cudaDeviceSynchronize", 20, 83));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].streams, (List{0, 1}));
  EXPECT_TRUE(s.found.waits[0].blocked);
  EXPECT_EQ(s.found.waits[0].after, us(3));
  EXPECT_FALSE(s.found.waits[0].host_remainder);
}

TEST(SyncWaits, ASyncAfterTheWorkDoesNotBlock) {
  const Syncs s(two_streams().call("cudaDeviceSynchronize", 90, 93));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_FALSE(s.found.waits[0].blocked);
  EXPECT_EQ(s.found.waits[0].after, us(13));  // since b's end: what it had to spare
}

TEST(SyncWaits, AStreamThatRunsOnContradictsADeviceSync) {
  const Syncs s(two_streams().call("cudaDeviceSynchronize", 20, 61));
  EXPECT_EQ(s.found.contradicted.count, 1u);
  EXPECT_THAT(s.found.contradicted.example, HasSubstr("returns 19.0 us before b on stream 9 ends"));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].streams, (List{0}));
}

TEST(SyncWaits, CudaFreeIsADeviceSyncAndHostWork) {
  const Syncs s(two_streams().call("cudaFree", 20, 300));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_TRUE(s.found.waits[0].host_remainder);
  EXPECT_EQ(s.found.waits[0].after, us(220));
}

TEST(SyncWaits, AStreamSyncIsForTheStreamLastLaunchedOn) {
  const Syncs s(two_streams().call("cudaStreamSynchronize", 20, 82));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].streams, (List{1}));
}

TEST(SyncWaits, UnlessAnotherStreamExplainsItsLength) {
  // The stream last launched on was done long before; stream 9 ends with the call.
  const Syncs s(TraceText()
                    .launch(0, 5, 1)
                    .launch(10, 15, 2)
                    .kernel("b", 10, 300, 9, 1)
                    .kernel("a", 20, 30, 7, 2)
                    .call("cudaStreamSynchronize", 40, 305));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.model.streams[s.found.waits[0].streams.at(0)].id, 9);
}

TEST(SyncWaits, ACudaSyncRowNamesTheStream) {
  const Syncs s(two_streams()
                    .call("cudaStreamSynchronize", 20, 62, 50)
                    .sync_row("Stream Sync", 20, 62, 7, -1, 50, -1));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].streams, (List{0}));
  EXPECT_EQ(s.found.waits[0].after, us(2));
}

TEST(SyncWaits, AnEventSyncWaitsForTheWorkBeforeTheRecord) {
  const Syncs s(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .launch(8, 9, 3)
                    .call("cudaEventSynchronize", 10, 63)
                    .kernel("a", 10, 60, 7, 1)
                    .kernel("b", 60, 90, 7, 3));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_TRUE(s.found.waits[0].streams.empty());
  EXPECT_EQ(s.found.waits[0].tasks, (List{0}));
  EXPECT_EQ(s.found.waits[0].after, us(3));
}

TEST(SyncWaits, ACudaSyncRowNamesTheRecord) {
  // The last record on the thread is another's: the row knows better.
  const Syncs s(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .launch(8, 9, 3)
                    .call("cudaEventRecord", 9, 10, 4)
                    .call("cudaEventSynchronize", 11, 63, 5)
                    .kernel("a", 10, 60, 7, 1)
                    .kernel("b", 60, 63, 7, 3)
                    .sync_row("Event Sync", 11, 63, 7, 7, 5, 2));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].tasks, (List{0}));
}

TEST(SyncWaits, ACopyToPageableMemoryHoldsTheHost) {
  const Syncs s(TraceText()
                    .call("cudaMemcpyAsync", 0, 50, 1)
                    .copy("Memcpy DtoH (Device -> Pageable)", 10, 45, 7, 1, 4096));
  ASSERT_EQ(s.found.waits.size(), 1u);
  EXPECT_EQ(s.found.waits[0].tasks, (List{0}));
  EXPECT_TRUE(s.found.waits[0].blocked);
  EXPECT_EQ(s.found.waits[0].after, us(5));
}

TEST(SyncWaits, StagedAndAsynchronousCopiesDoNot) {
  const Syncs staged(TraceText()
                         .call("cudaMemcpyAsync", 0, 50, 1)
                         .copy("Memcpy HtoD (Pageable -> Device)", 10, 45, 7, 1, 65536));
  EXPECT_TRUE(staged.found.waits.empty());
  const Syncs large(TraceText()
                        .call("cudaMemcpyAsync", 0, 50, 1)
                        .copy("Memcpy HtoD (Pageable -> Device)", 10, 45, 7, 1, 65537));
  EXPECT_EQ(large.found.waits.size(), 1u);
  const Syncs pinned(TraceText()
                         .call("cudaMemcpyAsync", 0, 50, 1)
                         .copy("Memcpy DtoH (Device -> Pinned)", 10, 45, 7, 1, 65537));
  EXPECT_TRUE(pinned.found.waits.empty());
}

TEST(SyncWaits, ALongSyncThatNothingExplainsIsHostTime) {
  const Syncs s(TraceText()
                    .call("cudaStreamSynchronize", 0, 300)
                    .launch(310, 312, 1)
                    .kernel("a", 320, 330, 7, 1));
  EXPECT_TRUE(s.found.waits.empty());
  EXPECT_EQ(s.found.without_source, 1u);
}

// ---- full queues --------------------------------------------------------------------------------

/// A host that launches every 5 us what takes 40 us to run; from the 600th on each launch waits
/// until no more than 600 are pending.
TraceText full_queue(int launches) {
  constexpr int kDepth = 600;
  TraceText text;
  double at = 0;
  for (int i = 0; i < launches; ++i) {
    const double ends = 20 + 40.0 * (i + 1 - kDepth);  // the kernel so many before
    const double until = i < kDepth ? at + 4 : std::max(at + 4, ends + 1);
    text.launch(at, until, i + 1).kernel("k", 20 + 40.0 * i, 20 + 40.0 * (i + 1), 7, i + 1);
    // Python takes its time now and then: a batch of launches then finds space.
    at = until + (i % 40 == 39 ? 120 : 1);
    text.op("python", until, at);
  }
  return text;
}

TEST(LaunchQueue, ALaunchReturnsWhenThereIsSpace) {
  const TraceSet set = full_queue(2000).read();
  Replay notes;
  Recording rec = make_recording(set, 1, notes);
  const RankModel& rank = rec.ranks[0];
  ASSERT_FALSE(rec.sync_waits[0].waits.empty());
  EXPECT_FALSE(rec.sync_waits[0].queue.empty());
  for (const SyncWait& wait : rec.sync_waits[0].waits) {
    EXPECT_EQ(wait.tasks.front() + 600, rank.calls[wait.call].gpu.front());
    EXPECT_TRUE(wait.blocked);
  }
  const std::vector<std::vector<Binding>> bindings{find_bindings(rec, 0)};
  const Lags lags = measure_lags(rec, bindings, LagMode::kRecorded);
  Durations durations = recorded_durations(rec);
  const auto ends = [&] {
    const Assembly a = assemble(rec, durations, lags, bindings, Baseline::kNone);
    const auto run = simulate(a.graph, a.release);
    EXPECT_TRUE(run.ok());
    std::pair<Time, Time> out;
    out.first = run->end[a.map.ranks[0].piece_last[0].back()];
    out.second = run->end[a.map.ranks[0].gpu_last.back()];
    for (std::uint32_t i = 601; i < 2000; ++i) {  // whoever launches, the queue is no longer
      const Call& next = rank.calls[i];
      EXPECT_GE(run->start[a.map.ranks[0].piece_first[0][next.first_piece]],
                run->end[a.map.ranks[0].gpu_last[i - 601]]);
    }
    return out;
  };
  EXPECT_EQ(ends(), std::pair(rank.threads[0].pieces.back().end, rank.gpu.back().end));
  // A host that takes no time fills the queue at once, and then waits for the GPU as before.
  for (auto* host : {&durations.ranks[0].piece[0], &durations.ranks[0].gap[0]}) {
    for (Time& t : *host) t = Time{};
  }
  const auto [host, gpu] = ends();
  EXPECT_EQ(gpu, rank.gpu.back().end);
  EXPECT_LE(gpu - host, us(24040));
  EXPECT_GE(gpu - host, us(23900));
}

TEST(LaunchQueue, WithoutEvidenceThereIsNone) {
  Replay notes;
  const TraceSet set = full_queue(600).read();
  Recording rec = make_recording(set, 1, notes);
  EXPECT_EQ(find_launch_queue(rec), 0u);
  EXPECT_TRUE(rec.sync_waits[0].queue.empty());
}

// ---- threads ------------------------------------------------------------------------------------

struct Threads {
  TraceSet set;
  RankModel model;
  std::vector<ThreadEdge> edges;
  explicit Threads(const TraceText& text)
      : set(text.read()), model(make_rank_model(set, 0, Time{})), edges(find_thread_edges(model)) {}
  std::string name(std::uint32_t thread, std::uint32_t piece) const {
    return std::string(
        set.strings[model.trace->events.name[model.threads[thread].pieces[piece].row]]);
  }
};

TEST(ThreadEdges, TheBackwardThreadStartsWhereTheForwardThreadHandsOver) {
  const Threads t(TraceText()
                      .op("forward", 0, 100)
                      .op("optimizer", 405, 500)
                      .thread(2)
                      .op("backward", 110, 400));
  ASSERT_EQ(t.edges.size(), 2u);
  EXPECT_EQ(t.name(t.edges[0].from_thread, t.edges[0].from_piece), "backward");
  EXPECT_EQ(t.name(t.edges[0].to_thread, t.edges[0].to_piece), "optimizer");
  EXPECT_EQ(t.name(t.edges[1].from_thread, t.edges[1].from_piece), "forward");
  EXPECT_EQ(t.name(t.edges[1].to_thread, t.edges[1].to_piece), "backward");
}

TEST(ThreadEdges, ShortGapsAndBusyOnesHandNothingOver) {
  const Threads small(
      TraceText().op("a", 0, 100).op("b", 140, 500).thread(2).op("c", 0, 120).op("d", 300, 310));
  for (const ThreadEdge& e : small.edges) EXPECT_NE(small.name(e.to_thread, e.to_piece), "b");
  const Threads busy(TraceText().op("a", 0, 1000).thread(2).op("c", 500, 600));
  EXPECT_TRUE(busy.edges.empty());
}

TEST(ThreadEdges, ThousandsOfThreadsOfOneMoment) {
  // All of them begin when the first one ends, and the last one when they do.
  constexpr int kThreads = 20000;
  TraceText text;
  text.thread(1).op("first", 0, 100);
  for (int t = 0; t < kThreads; ++t) text.thread(10 + t).op("many", 100, 200);
  text.thread(2).op("last", 200, 300);
  const TraceSet set = text.read();
  const RankModel model = make_rank_model(set, 0, Time{});
  const std::vector<ThreadEdge> edges = find_thread_edges(model);
  ASSERT_EQ(edges.size(), static_cast<std::size_t>(kThreads) + 1);
  std::size_t from_first = 0;
  for (const ThreadEdge& e : edges) {
    const auto name = [&](std::uint32_t thread) {
      return set.strings[set.traces[0].events.name[model.threads[thread].pieces[0].row]];
    };
    ASSERT_EQ(name(e.from_thread), name(e.to_thread) == "last" ? "many" : "first");
    from_first += name(e.from_thread) == "first" ? 1 : 0;
  }
  EXPECT_EQ(from_first, static_cast<std::size_t>(kThreads));
}

TEST(ThreadEdges, AThreadIdleBeforeIsNotTheCause) {
  // Thread 2 had stopped before thread 1 went idle: it cannot have woken it.
  const Threads t(TraceText().op("a", 0, 100).op("b", 300, 400).thread(2).op("c", 0, 50));
  EXPECT_TRUE(t.edges.empty());
}

}  // namespace
}  // namespace flopcast::replaying
