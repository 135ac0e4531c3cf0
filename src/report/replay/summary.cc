#include "report/replay/summary.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "base/numeric/median.h"
#include "base/text/format.h"
#include "report/replay/gpu_activity.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

struct Window {
  Time from, to;
  Time length() const { return to - from; }
};

/// First start to last end of the GPU rows, or of all rows where there is none.
Window window_of(const Trace& trace, const GpuActivity& activity, const std::vector<Time>& start,
                 const std::vector<Time>& end) {
  if (!activity.empty()) return {activity.first(), activity.last()};
  if (trace.events.size() == 0) return {};
  return {*std::min_element(start.begin(), start.end()), *std::max_element(end.begin(), end.end())};
}

StepSummary summarise_step(const StepResult& step, Baseline model, const GpuActivity& recorded,
                           const GpuActivity& replayed) {
  StepSummary s;
  s.name = step.name;
  s.host = {step.measured_end - step.measured_start, step.replayed_end - step.replayed_start};
  // That model has no host: its steps are the recorded ones.
  if (model != Baseline::kDpro) s.error = relative_error(s.host.measured, s.host.replayed);
  if (step.measured_gpu && step.replayed_gpu) {
    s.gpu = {*step.measured_gpu, *step.replayed_gpu};
    s.gpu_error = relative_error(s.gpu->measured, s.gpu->replayed);
  }
  s.parts.measured = recorded.within(step.measured_start, step.measured_end);
  s.parts.replayed = replayed.within(step.replayed_start, step.replayed_end);
  s.start_error_median_s = step.start_error_median_s;
  return s;
}

/// What one GPU does by the times of its rows, recorded or replayed.
struct GpuRun {
  GpuRun(const KernelNames& names, const Trace& trace, const std::vector<Time>& start,
         const std::vector<Time>& end, const WaitOfRow& waits)
      : changes(&names, trace, start, end, waits),
        activity(changes),
        window(window_of(trace, activity, start, end)),
        use(utilisation_curve(changes, window.from, window.to, kCurveInterval)) {}
  static constexpr Time kCurveInterval = Time::from_us(1000);

  GpuChanges changes;
  GpuActivity activity;
  Window window;
  UtilisationCurve use;
};

/// How long the rows of each trace wait in collectives.
struct Waits {
  Waits(const TraceSet& set, const Replay& replay, const HostWaits& for_hosts)
      : recorded(set.traces.size()), replayed(set.traces.size()) {
    for (std::size_t c = 0; c < replay.collectives.size(); ++c) {
      const CollectiveInstance& collective = replay.collectives[c];
      for (std::size_t i = 0; i < collective.members.size(); ++i) {
        const CollectiveInstance::Member& m = collective.members[i];
        const Pair<Time>& host = for_hosts[c][i];
        const bool pass = waits_by_plan(collective, i, replay.stages);
        recorded[m.trace].emplace(m.row, RowWait{m.recorded_wait, host.measured, pass});
        replayed[m.trace].emplace(m.row, RowWait{m.replayed_wait, host.replayed, pass});
      }
    }
  }
  std::vector<WaitOfRow> recorded, replayed;  ///< [trace]
};

RankSummary summarise_rank(const TraceSet& set, const Replay& replay, const KernelNames& names,
                           const Waits& waits, std::size_t t) {
  const Trace& trace = set.traces[t];
  GpuRun recorded(names, trace, replay.recorded.start[t], replay.recorded.end[t],
                  waits.recorded[t]);
  GpuRun replayed(names, trace, replay.replayed.start[t], replay.replayed.end[t],
                  waits.replayed[t]);
  RankSummary r;
  r.rank = rank_of(set, t);
  r.file = std::filesystem::path(trace.path).filename().string();
  r.window = {recorded.window.length(), replayed.window.length()};
  const auto parts = [](const GpuRun& run) {
    return run.activity.within(run.window.from, run.window.to);
  };
  r.parts = {parts(recorded), parts(replayed)};
  r.sms_used = {recorded.use.mean_sms, replayed.use.mean_sms};
  r.utilisation = {std::move(recorded.use.curve), std::move(replayed.use.curve)};
  for (const StepResult& step : replay.steps[t]) {
    r.steps.push_back(summarise_step(step, replay.baseline, recorded.activity, replayed.activity));
  }
  return r;
}

/// Median |start error| over the GPU tasks of all ranks.
Time median_start_error(const TraceSet& set, const Replay& replay) {
  std::vector<std::int64_t> errors;
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    const Events& events = set.traces[t].events;
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (!is_gpu_work(events.category[row])) continue;
      errors.push_back(
          std::abs((replay.replayed.start[t][row] - replay.recorded.start[t][row]).ps));
    }
  }
  return {upper_median(errors)};
}

void take_larger(double& largest, Time part0, Time whole0, Time part1, Time whole1) {
  if (whole0.ps <= 0 || whole1.ps <= 0) return;
  largest = std::max(largest, std::abs(share(part1, whole1) - share(part0, whole0)));
}

void add_step(Quality& q, const StepSummary& step) {
  if (step.error) {
    ++q.steps;
    q.mean_abs_error += std::abs(*step.error);
    q.max_abs_error = std::max(q.max_abs_error, std::abs(*step.error));
  }
  if (step.gpu_error) {
    ++q.gpu_steps;
    q.mean_abs_gpu_error += std::abs(*step.gpu_error);
    q.max_abs_gpu_error = std::max(q.max_abs_gpu_error, std::abs(*step.gpu_error));
  }
}

void compare_parts(Quality& q, const Pair<Breakdown>& parts, const Pair<Time>& window) {
  const Breakdown& a = parts.measured;
  const Breakdown& b = parts.replayed;
  const Time wa = window.measured;
  const Time wb = window.replayed;
  take_larger(q.exposed_compute, a.exposed_compute, wa, b.exposed_compute, wb);
  take_larger(q.exposed_communication, a.exposed_communication, wa, b.exposed_communication, wb);
  take_larger(q.overlapped, a.overlapped, wa, b.overlapped, wb);
  take_larger(q.idle, a.idle, wa, b.idle, wb);
}

}  // namespace

std::int32_t report::rank_of(const TraceSet& set, std::size_t trace) {
  return set.traces[trace].rank.value_or(static_cast<std::int32_t>(trace));
}

std::vector<RankSummary> report::summarise_ranks(const TraceSet& set, const Replay& replay,
                                                 const HostWaits& for_hosts, unsigned threads) {
  const KernelNames names(set.strings);
  const Waits waits(set, replay, for_hosts);
  std::vector<RankSummary> ranks(set.traces.size());
  parallel_for(ranks.size(), threads,
               [&](std::size_t t) { ranks[t] = summarise_rank(set, replay, names, waits, t); });
  return ranks;
}

Quality report::summarise_quality(const TraceSet& set, const Replay& replay,
                                  const std::vector<RankSummary>& ranks) {
  Quality q;
  Time windows;
  for (const RankSummary& rank : ranks) {
    windows += rank.window.measured;
    compare_parts(q, rank.parts, rank.window);
    for (const StepSummary& step : rank.steps) add_step(q, step);
  }
  if (q.steps > 0) q.mean_abs_error /= static_cast<double>(q.steps);
  if (q.gpu_steps > 0) q.mean_abs_gpu_error /= static_cast<double>(q.gpu_steps);
  for (const LateStart& late : replay.late_starts) q.late += late.late;
  q.late_share = share(q.late, windows);
  const auto count = static_cast<double>(std::max<std::size_t>(ranks.size(), 1));
  q.start_error_median = share(median_start_error(set, replay), windows) * count;
  return q;
}

Summary summarise(const TraceSet& set, const Replay& replay, unsigned threads) {
  Summary s;
  const HostWaits for_hosts = waits_for_hosts(set, replay, threads);
  s.ranks = summarise_ranks(set, replay, for_hosts, threads);
  s.collectives = summarise_collectives(set, replay);
  s.path = summarise_path(set, replay);
  s.late = late_ranks(set, replay, for_hosts);
  s.straggler = find_straggler(set, replay, s.ranks, for_hosts, s.late);
  s.quality = summarise_quality(set, replay, s.ranks);
  return s;
}

}  // namespace flopcast
