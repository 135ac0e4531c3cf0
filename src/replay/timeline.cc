#include "flopcast/replay/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "base/numeric/median.h"

namespace flopcast::replaying {
namespace {

/// Moves a thread's recorded times to its replayed ones. Inside a piece time runs on from its
/// start; in a gap from the end of the piece before.
class HostWarp {
 public:
  HostWarp(const HostThread& thread, const std::vector<TaskId>& first,
           const std::vector<TaskId>& last, const Run& run)
      : pieces_(thread.pieces), first_(first), last_(last), run_(run) {}

  Time start_at(Time t) const {
    const auto it = std::lower_bound(pieces_.begin(), pieces_.end(), t,
                                     [](const Piece& p, Time time) { return p.start < time; });
    if (it != pieces_.end() && it->start == t) return start(it);
    return between(it, t);
  }
  Time end_at(Time t) const {
    const auto it = std::lower_bound(pieces_.begin(), pieces_.end(), t,
                                     [](const Piece& p, Time time) { return p.end < time; });
    if (it != pieces_.end() && it->end == t) return end(it);
    if (it != pieces_.end() && it->start < t) return inside(it, t);
    return between(it, t);
  }

 private:
  using It = std::vector<Piece>::const_iterator;
  Time start(It it) const {
    return run_.start[first_[static_cast<std::size_t>(it - pieces_.begin())]];
  }
  Time end(It it) const { return run_.end[last_[static_cast<std::size_t>(it - pieces_.begin())]]; }
  Time inside(It it, Time t) const { return std::min(start(it) + (t - it->start), end(it)); }

  /// t lies before piece `next` and not at its start.
  Time between(It next, Time t) const {
    if (next == pieces_.begin()) return next == pieces_.end() ? t : start(next) - (next->start - t);
    const It before = std::prev(next);
    if (t < before->end) return inside(before, t);
    const Time at = end(before) + (t - before->end);
    return next == pieces_.end() ? at : std::min(at, start(next));
  }

  const std::vector<Piece>& pieces_;
  const std::vector<TaskId>& first_;
  const std::vector<TaskId>& last_;
  const Run& run_;
};

void place_host_rows(const RankModel& rank, const TaskMap::Rank& map, const Run& run,
                     std::vector<Time>& start, std::vector<Time>& end) {
  const Events& ev = rank.trace->events;
  std::vector<std::uint32_t> thread_of(rank.trace->tracks.size(), kNoIndex);
  std::vector<HostWarp> warps;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    thread_of[rank.threads[t].track] = t;
    warps.emplace_back(rank.threads[t], map.piece_first[t], map.piece_last[t], run);
  }
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (is_gpu_work(ev.category[r]) || thread_of[ev.track[r]] == kNoIndex) continue;
    const HostWarp& warp = warps[thread_of[ev.track[r]]];
    const Time recorded_start = start[r];
    start[r] = warp.start_at(recorded_start);
    end[r] = std::max(start[r], ev.duration[r] == Time{} ? start[r] : warp.end_at(end[r]));
  }
}

/// A GPU annotation spans the rows it covered in the recording.
void place_gpu_annotations(const RankModel& rank, const std::vector<Time>& recorded_start,
                           std::vector<Time>& start, std::vector<Time>& end) {
  const Events& ev = rank.trace->events;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> rows_of;  // by track
  for (const GpuTask& t : rank.gpu) rows_of[ev.track[t.row]].push_back(t.row);
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (ev.category[r] != Category::kGpuUserAnnotation) continue;
    const auto rows = rows_of.find(ev.track[r]);
    if (rows == rows_of.end()) continue;
    const Time from = recorded_start[r] + rank.gpu_offset;
    const auto before = [&](std::uint32_t row, Time t) { return recorded_start[row] < t; };
    const auto first = std::lower_bound(rows->second.begin(), rows->second.end(), from, before);
    const auto last = std::lower_bound(first, rows->second.end(), from + ev.duration[r], before);
    if (first == last) continue;
    start[r] = start[*first];
    end[r] = end[*std::prev(last)];
  }
}

/// GPU tasks of a rank by when they were put on their stream: when the call that launched them
/// starts, or they do where there is none.
class PutOrder {
 public:
  explicit PutOrder(const RankModel& rank) : rank_(rank) {
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      if (rank.gpu[t].call == kNoIndex) without_call_.push_back(t);
    }
  }

  /// Those put in [from, to).
  template <typename Use>
  void for_each(Time from, Time to, Use&& use) const {
    const auto starts = [](const Call& call, Time t) { return call.start < t; };
    auto call = std::lower_bound(rank_.calls.begin(), rank_.calls.end(), from, starts);
    for (; call != rank_.calls.end() && call->start < to; ++call) {
      for (const std::uint32_t t : call->gpu) use(rank_.gpu[t]);
    }
    const auto before = [&](std::uint32_t t, Time time) { return rank_.gpu[t].start < time; };
    auto task = std::lower_bound(without_call_.begin(), without_call_.end(), from, before);
    for (; task != without_call_.end() && rank_.gpu[*task].start < to; ++task) {
      use(rank_.gpu[*task]);
    }
  }

 private:
  const RankModel& rank_;
  std::vector<std::uint32_t> without_call_;
};

}  // namespace

Timeline recorded_timeline(const TraceSet& set, const Recording& recording) {
  Timeline out;
  for (std::size_t i = 0; i < set.traces.size(); ++i) {
    const Events& ev = set.traces[i].events;
    const RankModel& rank = recording.ranks[i];
    std::vector<Time> start(ev.size());
    std::vector<Time> end(ev.size());
    for (std::size_t r = 0; r < ev.size(); ++r) {
      const Time offset =
          rank.host_offset + (is_gpu_work(ev.category[r]) ? rank.gpu_offset : Time{});
      start[r] = ev.start[r] + offset;
      end[r] = start[r] + ev.duration[r];
    }
    out.start.push_back(std::move(start));
    out.end.push_back(std::move(end));
  }
  return out;
}

Timeline replayed_timeline(const Recording& recording, const Timeline& recorded,
                           const Assembly& assembly, const Run& run) {
  Timeline out = recorded;
  for (std::size_t i = 0; i < recording.ranks.size(); ++i) {
    const RankModel& rank = recording.ranks[i];
    const TaskMap::Rank& map = assembly.map.ranks[i];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      out.start[i][rank.gpu[t].row] = run.start[map.gpu_first[t]];
      out.end[i][rank.gpu[t].row] = run.end[map.gpu_last[t]];
    }
    if (!map.piece_first.empty()) place_host_rows(rank, map, run, out.start[i], out.end[i]);
    place_gpu_annotations(rank, recorded.start[i], out.start[i], out.end[i]);
  }
  return out;
}

std::vector<StepResult> step_results(const TraceSet& set, const RankModel& rank,
                                     const Timeline& recorded, const Timeline& replayed) {
  const std::vector<Time>& was = recorded.start[rank.index];
  const std::vector<Time>& is = replayed.start[rank.index];
  std::vector<StepResult> results;
  const PutOrder put(rank);
  std::optional<Time> measured_before, replayed_before;  // last GPU end of the steps so far
  for (const Step& step : find_steps(set, *rank.trace)) {
    StepResult out;
    out.name = step.name;
    out.measured_start = step.start + rank.host_offset;
    out.measured_end = step.end + rank.host_offset;
    out.replayed_start = out.measured_start;
    out.replayed_end = out.measured_end;
    if (step.event != kNoDetail) {
      out.replayed_start = is[step.event];
      out.replayed_end = replayed.end[rank.index][step.event];
    }
    Time measured_last = Time::min();
    Time replayed_last = Time::min();
    std::vector<Time> errors;
    put.for_each(out.measured_start, out.measured_end, [&](const GpuTask& t) {
      measured_last = std::max(measured_last, recorded.end[rank.index][t.row]);
      replayed_last = std::max(replayed_last, replayed.end[rank.index][t.row]);
      const Time error = is[t.row] - was[t.row];
      errors.push_back(error < Time{} ? -error : error);
    });
    if (step.event == kNoDetail && replayed_last > Time::min()) {
      out.replayed_end = out.measured_end + (replayed_last - measured_last);
    }
    if (!errors.empty()) {
      out.measured_gpu = measured_last - measured_before.value_or(out.measured_start);
      out.replayed_gpu = replayed_last - replayed_before.value_or(out.replayed_start);
      measured_before = measured_last;
      replayed_before = replayed_last;
      out.start_error_median_s = upper_median(errors).seconds();
    }
    results.push_back(std::move(out));
  }
  return results;
}

}  // namespace flopcast::replaying
