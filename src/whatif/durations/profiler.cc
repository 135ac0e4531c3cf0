#include "whatif/durations/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "whatif/change/stretch.h"
#include "whatif/durations/host_slots.h"
#include "whatif/durations/row_cost.h"

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

/// Where the profiler worked on a rank's host. What is not there outside of a row is inside:
/// timestamps are taken in the midst of the profiler's work.
struct RowSlots {
  std::uint32_t thread = 0;
  std::uint32_t before_start = 0, after_start = 0, before_end = 0, after_end = 0;
  bool call = false;  ///< of the runtime; else an operator or an annotation
};

std::vector<HostSlots> slots_of(const Recording& recording, std::uint32_t r,
                                Durations::Rank& durations) {
  std::vector<HostSlots> slots;
  for (std::uint32_t t = 0; t < recording.ranks[r].threads.size(); ++t)
    slots.emplace_back(recording, r, t, durations);
  return slots;
}

bool is_row(Category category) {
  return category == Category::kCpuOp || category == Category::kUserAnnotation ||
         is_host_call(category);
}

std::vector<RowSlots> find_rows(const RankModel& rank, const std::vector<HostSlots>& slots) {
  std::unordered_map<std::uint32_t, std::uint32_t> thread_of;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) thread_of[rank.threads[t].track] = t;
  const Events& events = rank.trace->events;
  std::vector<RowSlots> rows;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (!is_row(events.category[row])) continue;
    const auto thread = thread_of.find(events.track[row]);
    if (thread == thread_of.end()) continue;
    const HostSlots& of = slots[thread->second];
    const Time start = events.start[row] + rank.host_offset;
    const Time end = start + events.duration[row];
    rows.push_back({thread->second, of.before(start), of.after(start), of.before(end),
                    of.after(end), is_host_call(events.category[row])});
  }
  return rows;
}

/// Takes `scale` times the profiler's work out of a rank's host.
class Unprofiled {
 public:
  Unprofiled(const RankModel& rank, std::vector<HostSlots> slots, Time operator_cost, double scale)
      : rank_(rank),
        slots_(std::move(slots)),
        half_operator_(stretched(operator_cost, scale / 2)),
        scale_(scale) {}

  void take(const std::vector<RowSlots>& rows, Time quickest) {
    const Time half = stretched(kRowCost, scale_ / 2);
    for (const Call& call : rank_.calls) {
      if (is_launch(rank_, call)) take_launch(call, std::max(kLeastLaunch, quickest - half));
    }
    for (const RowSlots& row : rows) {
      HostSlots& slots = slots_[row.thread];
      const Time cost = row.call ? half : half_operator_;
      slots.take(row.after_start, slots.take(row.before_start, cost));
      slots.take(row.before_end, slots.take(row.after_end, cost));
    }
    take_frames();
  }

 private:
  /// Launches that are slower than the quickest had to wait for memory, mostly the profiler's.
  void take_launch(const Call& call, Time floor) {
    const Time over = call.end - call.start - floor;
    if (over <= Time{}) return;
    Time left = stretched(over, std::min(1.0, scale_));
    const auto& pieces = rank_.threads[call.thread].pieces;
    for (std::uint32_t p = call.first_piece; p <= call.last_piece && left > Time{}; ++p) {
      if (pieces[p].row == call.row) left = slots_[call.thread].take(2 * p + 1, left);
    }
  }

  /// Where Python's frames were is not kept: they are taken everywhere alike.
  void take_frames() {
    const std::uint64_t frames =
        rank_.trace->row_counts[static_cast<int>(Category::kPythonFunction)];
    Time work;
    for (const HostSlots& slots : slots_) work += slots.work();
    if (frames == 0 || work <= Time{}) return;
    const double cost = kFrameCost.seconds() * scale_ * static_cast<double>(frames);
    const double left = std::max(0.1, 1 - cost / work.seconds());
    for (HostSlots& slots : slots_) slots.stretch(left);
  }

  const RankModel& rank_;
  std::vector<HostSlots> slots_;
  Time half_operator_;  // of what a row of an operator costs
  double scale_;
};

std::uint64_t host_rows(const ChangedRun& run) {
  std::uint64_t rows = 0;
  for (const RankModel& rank : run.recording->ranks) {
    for (const HostThread& thread : rank.threads) rows += thread.pieces.size();
  }
  return rows;
}

}  // namespace

std::optional<Diagnostic> remove_profiler(ChangedRun& run, const Change& change) {
  const std::uint64_t pieces = host_rows(run);
  if (pieces == 0) {
    run.refused.push_back(
        refusal(change,
                "no row of the host was recorded, so that what recording it cost is unknown; "
                "record with the profiler's CPU activity"));
    return std::nullopt;
  }
  const Recording& recording = *run.recording;
  const Time quickest = quickest_launch(recording);
  const Time operator_cost = operator_row_cost(recording);
  Doubt doubt{"the profiler's cost, halved and doubled", run.durations, run.durations};
  parallel_for(recording.ranks.size(), 0, [&](std::size_t i) {
    const auto r = static_cast<std::uint32_t>(i);
    const RankModel& rank = recording.ranks[r];
    const std::vector<RowSlots> rows =
        find_rows(rank, slots_of(recording, r, run.durations.ranks[r]));
    const auto take = [&](Durations& durations, double scale) {
      Unprofiled(rank, slots_of(recording, r, durations.ranks[r]), operator_cost, scale)
          .take(rows, quickest);
    };
    take(doubt.low, 2);
    take(run.durations, 1);
    take(doubt.high, 0.5);
  });
  run.doubts.push_back(std::move(doubt));
  run.notes.push_back(
      {fmt::format(
           "the profiler costs {:.2g} us a row of an operator, {:.2g} a call; launches are quick",
           operator_cost.us(), kRowCost.us()),
       "assumed", pieces, 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
