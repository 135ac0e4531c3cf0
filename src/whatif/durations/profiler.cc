#include "whatif/durations/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "whatif/change/stretch.h"
#include "whatif/durations/host_slots.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// A call that takes longer was held up: by a full queue, or by a module that was loaded.
constexpr Time kHeldUp = Time::from_us(50);
/// A launch takes no less than this without a profiler.
constexpr Time kLeastLaunch = Time::from_us(1);
/// Which of a recording's launches, sorted, counts as its quickest.
constexpr double kQuickest = 0.01;

bool is_launch(const RankModel& rank, const Call& call) {
  return !call.gpu.empty() && call.end - call.start <= kHeldUp &&
         rank.trace->events.category[rank.gpu[call.gpu.front()].row] == Category::kKernel;
}

/// The time that the recording's quickest launches take; 0 where there are none.
Time quickest_launch(const Recording& recording) {
  std::vector<Time> launches;
  for (const RankModel& rank : recording.ranks) {
    for (const Call& call : rank.calls) {
      if (is_launch(rank, call)) launches.push_back(call.end - call.start);
    }
  }
  if (launches.empty()) return {};
  std::sort(launches.begin(), launches.end());
  return launches[static_cast<std::size_t>(static_cast<double>(launches.size()) * kQuickest)];
}

/// Takes `scale` times the profiler's work out of a rank's host.
class Unprofiled {
 public:
  Unprofiled(const Recording& recording, std::uint32_t r, Time quickest, double scale,
             Durations::Rank& durations)
      : rank_(recording.ranks[r]), scale_(scale) {
    floor_ = std::max(kLeastLaunch, quickest - stretched(kRowCost, scale / 2));
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t) {
      thread_of_[rank_.threads[t].track] = t;
      slots_.emplace_back(recording, r, t, durations);
    }
  }

  void take() {
    for (const Call& call : rank_.calls) {
      if (is_launch(rank_, call)) take_launch(call);
    }
    const Events& events = rank_.trace->events;
    std::uint64_t frames = 0;
    for (std::uint32_t row = 0; row < events.size(); ++row) {
      frames += events.category[row] == Category::kPythonFunction;
      if (costs(events.category[row])) take_row(row);
    }
    constexpr auto kPython = static_cast<int>(Category::kPythonFunction);
    take_frames(std::max(frames, rank_.trace->row_counts[kPython]));
  }

 private:
  static bool costs(Category category) {
    return category == Category::kCpuOp || category == Category::kUserAnnotation ||
           is_host_call(category);
  }

  void take_row(std::uint32_t row) {
    const Events& events = rank_.trace->events;
    const auto thread = thread_of_.find(events.track[row]);
    if (thread == thread_of_.end()) return;
    HostSlots& slots = slots_[thread->second];
    const Time start = events.start[row] + rank_.host_offset;
    const Time end = start + events.duration[row];
    const Time half = stretched(kRowCost, scale_ / 2);
    // What is not there outside of the row is inside: timestamps are taken in the midst of it.
    slots.take_after(start, slots.take_before(start, half));
    slots.take_before(end, slots.take_after(end, half));
  }

  /// Launches that are slower than the quickest had to wait for memory, mostly the profiler's.
  void take_launch(const Call& call) {
    const Time over = call.end - call.start - floor_;
    if (over <= Time{}) return;
    Time left = stretched(over, std::min(1.0, scale_));
    const auto& pieces = rank_.threads[call.thread].pieces;
    for (std::uint32_t p = call.first_piece; p <= call.last_piece && left > Time{}; ++p) {
      if (pieces[p].row == call.row) left = slots_[call.thread].take_piece(p, left);
    }
  }

  /// Where frames were is not kept: they are taken everywhere alike.
  void take_frames(std::uint64_t frames) {
    Time work;
    for (const HostSlots& slots : slots_) work += slots.work();
    if (frames == 0 || work <= Time{}) return;
    const double cost = kFrameCost.seconds() * scale_ * static_cast<double>(frames);
    const double left = std::max(0.1, 1 - cost / work.seconds());
    for (HostSlots& slots : slots_) slots.stretch(left);
  }

  const RankModel& rank_;
  double scale_;
  Time floor_;
  std::vector<HostSlots> slots_;
  std::unordered_map<std::uint32_t, std::uint32_t> thread_of_;
};

Durations unprofiled(const Recording& recording, const Durations& durations, double scale) {
  Durations out = durations;
  const Time quickest = quickest_launch(recording);
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r)
    Unprofiled(recording, r, quickest, scale, out.ranks[r]).take();
  return out;
}

std::uint64_t host_rows(const ChangedRun& run) {
  std::uint64_t rows = 0;
  for (const RankModel& rank : run.recording->ranks) {
    for (const HostThread& thread : rank.threads) rows += thread.pieces.size();
  }
  return rows;
}

}  // namespace

std::optional<Diagnostic> remove_profiler(ChangedRun& run, const ChangedRun&,
                                          const Change& change) {
  const std::uint64_t rows = host_rows(run);
  if (rows == 0) {
    run.refused.push_back(
        refusal(change,
                "no row of the host was recorded, so that what recording it cost is unknown; "
                "record with the profiler's CPU activity"));
    return std::nullopt;
  }
  const Durations before = std::move(run.durations);
  run.durations = unprofiled(*run.recording, before, 1);
  run.doubts.push_back({"the profiler's cost, halved and doubled",
                        unprofiled(*run.recording, before, 2),
                        unprofiled(*run.recording, before, 0.5)});
  run.notes.push_back(
      {fmt::format("the profiler costs the host {} us a row; a launch, no more than the quickest",
                   kRowCost.us()),
       "assumed", rows, 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
