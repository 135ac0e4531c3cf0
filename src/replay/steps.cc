#include "flopcast/replay/steps.h"

#include <algorithm>

#include "base/numeric/median.h"
#include "flopcast/replay/timeline.h"
#include "replay/host_warp.h"

namespace flopcast::replaying {
namespace {

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
  std::vector<std::uint32_t> between(Time from, Time to) const {
    std::vector<std::uint32_t> tasks;
    const auto starts = [](const Call& call, Time t) { return call.start < t; };
    auto call = std::lower_bound(rank_.calls.begin(), rank_.calls.end(), from, starts);
    for (; call != rank_.calls.end() && call->start < to; ++call) {
      tasks.insert(tasks.end(), call->gpu.begin(), call->gpu.end());
    }
    const auto before = [&](std::uint32_t t, Time time) { return rank_.gpu[t].start < time; };
    auto task = std::lower_bound(without_call_.begin(), without_call_.end(), from, before);
    for (; task != without_call_.end() && rank_.gpu[*task].start < to; ++task) {
      tasks.push_back(*task);
    }
    return tasks;
  }

 private:
  const RankModel& rank_;
  std::vector<std::uint32_t> without_call_;
};

/// Start and end of an annotation on the host.
void place_annotation(const RankModel& rank, std::uint32_t row, StepTasks& step) {
  const Events& ev = rank.trace->events;
  const auto thread = std::find_if(rank.threads.begin(), rank.threads.end(),
                                   [&](const HostThread& t) { return t.track == ev.track[row]; });
  if (thread == rank.threads.end()) return;
  HostWarp warp(rank, static_cast<std::uint32_t>(thread - rank.threads.begin()));
  step.start = warp.start_at(step.measured_start);
  step.end = ev.duration[row] == Time{} ? step.start : warp.end_at(step.measured_end);
}

}  // namespace

HostPoint fixed_point(Time t) {
  HostPoint point;
  point.offset = t;
  return point;
}

Time HostPoint::in(const TaskMap::Rank& map, const Run& run) const {
  if (thread == kNoIndex) return offset;
  const auto at = [&](std::uint32_t p, bool end) {
    return end ? run.end[map.piece_last[thread][p]] : run.start[map.piece_first[thread][p]];
  };
  const Time time = at(piece, from_end) + offset;
  return cap == kNoIndex ? time : std::min(time, at(cap, cap_end));
}

/// The first piece that does not lie `before`: sought in strides that double, on either side of the last start.
template <typename Before>
HostWarp::It HostWarp::seek(Before before) const {
  const It begin = pieces_.begin(), end = pieces_.end();
  It low = at_, high = at_;
  std::ptrdiff_t stride = 1;
  if (low != end && before(*low)) {
    for (; end - low > stride && before(low[stride]); stride *= 2) low += stride;
    high = end - low > stride ? low + stride : end;
  } else {
    for (; high - begin >= stride && !before(*(high - stride)); stride *= 2) high -= stride;
    low = high - begin >= stride ? high - stride : begin;
  }
  return std::partition_point(low, high, before);
}

HostPoint HostWarp::start_at(Time t) {
  const It it = at_ = seek([t](const Piece& p) { return p.start < t; });
  if (it != pieces_.end() && it->start == t)
    return {thread_, index(it), false, Time{}, kNoIndex, false};
  return between(it, t);
}

HostPoint HostWarp::end_at(Time t) const {
  const It it = seek([t](const Piece& p) { return p.end < t; });
  if (it != pieces_.end() && it->end == t)
    return {thread_, index(it), true, Time{}, kNoIndex, false};
  if (it != pieces_.end() && it->start < t) return inside(it, t);
  return between(it, t);
}

HostPoint HostWarp::inside(It it, Time t) const {
  return {thread_, index(it), false, t - it->start, index(it), true};
}

/// t lies before piece `next` and not at its start.
HostPoint HostWarp::between(It next, Time t) const {
  if (next == pieces_.begin()) {
    if (next == pieces_.end()) return fixed_point(t);
    return {thread_, index(next), false, t - next->start, kNoIndex, false};
  }
  const It before = std::prev(next);
  if (t < before->end) return inside(before, t);
  const std::uint32_t cap = next == pieces_.end() ? kNoIndex : index(next);
  return {thread_, index(before), true, t - before->end, cap, false};
}

std::vector<StepTasks> step_tasks(const TraceSet& set, const RankModel& rank) {
  std::vector<StepTasks> steps;
  const PutOrder put(rank);
  for (const Step& step : find_steps(set, *rank.trace)) {
    StepTasks out;
    out.name = step.name;
    out.annotated = step.event != kNoDetail;
    out.measured_start = step.start + rank.host_offset;
    out.measured_end = step.end + rank.host_offset;
    out.start = fixed_point(out.measured_start);
    out.end = fixed_point(out.measured_end);
    if (out.annotated) place_annotation(rank, step.event, out);
    out.gpu = put.between(out.measured_start, out.measured_end);
    for (const std::uint32_t t : out.gpu) {
      out.measured_last_gpu =
          std::max(out.measured_last_gpu.value_or(Time::min()), rank.gpu[t].end);
    }
    steps.push_back(std::move(out));
  }
  return steps;
}

std::vector<StepTime> step_times(const std::vector<StepTasks>& steps, const TaskMap::Rank& map,
                                 const Run& run) {
  std::vector<StepTime> times;
  std::optional<Time> before;  // last GPU end of the steps so far
  for (const StepTasks& step : steps) {
    StepTime out;
    out.host_start = step.start.in(map, run);
    out.host_end = std::max(out.host_start, step.end.in(map, run));
    if (!step.gpu.empty()) {
      Time first = Time::max(), last = Time::min();
      for (const std::uint32_t t : step.gpu) last = std::max(last, run.end[map.gpu_last[t]]);
      out.gpu_from = before.value_or(out.host_start);
      if (!step.annotated) {
        // A window begins when the recording does: what comes before its first GPU work is no step's.
        out.host_end = step.measured_end + (last - *step.measured_last_gpu);
        for (const std::uint32_t t : step.gpu) first = std::min(first, run.start[map.gpu_first[t]]);
        out.gpu_from = first;
      }
      out.gpu_to = last;
      before = last;
    }
    times.push_back(out);
  }
  return times;
}

std::vector<StepResult> step_results(const TraceSet& set, const RankModel& rank,
                                     const Timeline& recorded, const Timeline& replayed) {
  const std::vector<Time>& was = recorded.start[rank.index];
  const std::vector<Time>& is = replayed.start[rank.index];
  const std::vector<Step> found = find_steps(set, *rank.trace);
  const std::vector<StepTasks> tasks = step_tasks(set, rank);
  std::vector<StepResult> results;
  std::optional<Time> measured_before, replayed_before;  // last GPU end of the steps so far
  for (std::size_t s = 0; s < found.size(); ++s) {
    StepResult out;
    out.name = found[s].name;
    out.measured_start = out.replayed_start = tasks[s].measured_start;
    out.measured_end = out.replayed_end = tasks[s].measured_end;
    if (found[s].event != kNoDetail) {
      out.replayed_start = is[found[s].event];
      out.replayed_end = replayed.end[rank.index][found[s].event];
    }
    Time measured_first = Time::max(), replayed_first = Time::max();
    Time measured_last = Time::min();
    Time replayed_last = Time::min();
    std::vector<Time> errors;
    for (const std::uint32_t t : tasks[s].gpu) {
      const std::uint32_t row = rank.gpu[t].row;
      measured_first = std::min(measured_first, was[row]);
      replayed_first = std::min(replayed_first, is[row]);
      measured_last = std::max(measured_last, recorded.end[rank.index][row]);
      replayed_last = std::max(replayed_last, replayed.end[rank.index][row]);
      const Time error = is[row] - was[row];
      errors.push_back(error < Time{} ? -error : error);
    }
    if (found[s].event == kNoDetail && replayed_last > Time::min()) {
      out.replayed_end = out.measured_end + (replayed_last - measured_last);
    }
    if (!errors.empty()) {
      const bool window = found[s].event == kNoDetail;
      out.measured_gpu =
          measured_last - (window ? measured_first : measured_before.value_or(out.measured_start));
      out.replayed_gpu =
          replayed_last - (window ? replayed_first : replayed_before.value_or(out.replayed_start));
      measured_before = measured_last;
      replayed_before = replayed_last;
      out.start_error_median_s = upper_median(errors).seconds();
    }
    results.push_back(std::move(out));
  }
  return results;
}

}  // namespace flopcast::replaying
