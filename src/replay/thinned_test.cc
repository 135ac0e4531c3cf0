// A graph without the host tasks that nobody asks for: what is left runs as it did, and as it would
// with a faster host.
#include "replay/thinned.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flopcast/engine/times.h"
#include "flopcast/replay/parts.h"
#include "support/sample_run.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;

Time halved(Time time) { return Time{time.ps / 2}; }

/// The assembly of a recording, whole and thinned.
class ThinnedRun {
 public:
  ThinnedRun(const TraceSet& set, LagMode lags) {
    Replay notes;
    rec_ = make_recording(set, 1, notes);
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r)
      bindings_.push_back(find_bindings(rec_, r));
    whole_ = assemble(rec_, recorded_durations(rec_), measure_lags(rec_, bindings_, lags),
                      bindings_, Baseline::kNone);
    thinned_ = whole_;
    part_ = Parts(set, rec_).of_tasks(whole_);
    part_left_ = part_;
    // One task in the middle of a thread, as a step's annotation may want it.
    wanted_ = whole_.graph.processors.front().first + 1;
    std::vector<bool> wanted(whole_.graph.task_count(), false);
    wanted[wanted_] = true;
    host_ = thin(thinned_, wanted, part_left_, halved);
  }

  void expect_same_run() {
    compare(*run_times(whole_.graph, whole_.graph, whole_.release),
            *run_times(thinned_.graph, thinned_.graph, thinned_.release));
  }
  /// With the host in half of its time.
  void expect_same_faster_run() {
    Time work;
    const auto faster = [&work](Time& time) {
      if (time <= Time{}) return;
      work += time;
      time = halved(time);
    };
    Graph& g = whole_.graph;
    for (TaskId t = 0; t < g.task_count(); ++t) {
      if (g.processors[g.processor[t]].kind == Processor::Kind::kThread) faster(g.gap[t]);
      if (part_[t] == Parts::kHostPart) faster(g.duration[t]);
    }
    Time left = host_.work;
    thinned_.graph.gap = host_.gap;
    for (TaskId t = 0; t < thinned_.graph.task_count(); ++t) {
      Time& duration = thinned_.graph.duration[t];
      if (part_left_[t] != Parts::kHostPart) continue;
      left += std::max(Time{}, duration);
      duration = std::min(duration, halved(duration));
    }
    EXPECT_EQ(left, work);
    expect_same_run();
  }
  std::size_t tasks() const { return whole_.graph.task_count(); }
  std::size_t tasks_left() const { return thinned_.graph.task_count(); }

 private:
  void compare(const Run& whole, const Run& thinned) const {
    std::size_t compared = 0;
    const auto same = [&](TaskId a, TaskId b) {
      if (b == kNoTask) return;
      ++compared;
      ASSERT_EQ(whole.start[a], thinned.start[b]);
      ASSERT_EQ(whole.end[a], thinned.end[b]);
    };
    for (std::size_t r = 0; r < rec_.ranks.size(); ++r) {
      const TaskMap::Rank &a = whole_.map.ranks[r], &b = thinned_.map.ranks[r];
      for (std::size_t t = 0; t < a.gpu_first.size(); ++t) {
        ASSERT_NE(b.gpu_first[t], kNoTask);
        same(a.gpu_first[t], b.gpu_first[t]);
        same(a.gpu_last[t], b.gpu_last[t]);
      }
      for (std::size_t thread = 0; thread < a.piece_first.size(); ++thread) {
        for (std::size_t p = 0; p < a.piece_first[thread].size(); ++p) {
          const TaskId first = a.piece_first[thread][p];
          if (first == wanted_) {
            EXPECT_NE(b.piece_first[thread][p], kNoTask);
          }
          same(first, b.piece_first[thread][p]);
          same(a.piece_last[thread][p], b.piece_last[thread][p]);
        }
      }
    }
    EXPECT_GE(compared, thinned_.graph.task_count() / 2);
  }

  Recording rec_;
  std::vector<std::vector<Binding>> bindings_;
  Assembly whole_, thinned_;
  std::vector<std::uint32_t> part_, part_left_;
  TaskId wanted_ = 0;
  HostTime host_;
};

void expect_as_whole(const TraceSet& set) {
  for (const LagMode lags : {LagMode::kTypical, LagMode::kRecorded}) {
    ThinnedRun run(set, lags);
    EXPECT_LT(run.tasks_left(), run.tasks());
    run.expect_same_run();
    run.expect_same_faster_run();
  }
}

TEST(Thinned, TheSampleRunsAsWhole) {
  const Result<TraceSet> set = read_traces({test::sample_run()});
  ASSERT_TRUE(set.ok()) << set.error().text();
  expect_as_whole(*set);
}

// The second thread is released by the first, in its first piece and later again; a copy blocks, and
// an event is waited for.
TEST(Thinned, ThreadsThatWaitForEachOtherRunAsWhole) {
  TraceText text;
  text.op("forward", 0, 60).op("a", 5, 15).op("b", 20, 30).launch(31, 33, 1).op("c", 40, 50);
  text.kernel("gemm", 40, 140, 7, 1);
  text.thread(2).op("backward", 61, 120).op("d", 62, 70).launch(71, 74, 2).op("e", 80, 90);
  text.kernel("wgrad", 141, 240, 7, 2);
  text.thread(1).op("optimizer", 121, 400).op("f", 130, 140);
  text.call("cudaMemcpyAsync", 141, 252, 3);
  text.copy("Memcpy DtoH (Device -> Pageable)", 241, 250, 7, 3, 4096);
  text.call("cudaDeviceSynchronize", 255, 260).op("g", 270, 300).launch(310, 312, 4);
  text.kernel("adam", 316, 350, 9, 4);
  text.thread(2).op("again", 401, 450).op("h", 410, 420).launch(421, 424, 5);
  text.kernel("last", 430, 440, 7, 5);
  expect_as_whole(text.read());
}

}  // namespace
}  // namespace flopcast::replaying
