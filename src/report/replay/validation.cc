#include "flopcast/report/sets.h"
#include "report/replay/summary.h"

#include <algorithm>
#include <utility>

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::vector<SetResult::Late> late_starts(const TraceSet& set, const Replay& replay) {
  std::vector<SetResult::Late> list;
  for (const LateStart& late : replay.late_starts) {
    const Events& events = set.traces[late.trace].events;
    list.push_back({rank_of(set, late.trace), std::string(set.strings[events.name[late.row]]),
                    replay.recorded.start[late.trace][late.row], late.late});
  }
  return list;
}

bool is_step(const std::string& name, const std::string& asked) {
  return name == asked || name == "ProfilerStep#" + asked;
}

/// With the durations of one step in the graph of another, that step alone is judged.
void judge_one_step(Summary& summary, const TraceSet& set, const Replay& replay,
                    const std::string& asked) {
  for (RankSummary& rank : summary.ranks) {
    std::erase_if(rank.steps, [&](const StepSummary& s) { return !is_step(s.name, asked); });
  }
  summary.quality = summarise_quality(set, replay, summary.ranks);
}

}  // namespace

SetResult make_set_result(const TraceSet& set, const Replay& replay, const ReplayOptions& options) {
  SetResult result;
  result.name = set.label;
  result.lags = replay.lags;
  result.baseline = replay.baseline;
  result.structure_from = options.structure_from.value_or("");
  result.durations_from = options.durations_from.value_or("");
  result.network = replay.network;
  result.summary = summarise(set, replay, options.threads);
  if (options.durations_from) judge_one_step(result.summary, set, replay, *options.durations_from);
  result.sensitivity = replay.sensitivity;
  result.no_sensitivity = replay.no_sensitivity;
  result.edges = replay.edges;
  result.pinned = replay.pinned;
  result.lag_table = replay.lag_table;
  result.clocks = replay.clocks;
  result.clock_residual = replay.clock_residual;
  result.damage = replay.damage;
  result.top_kernels = top_kernels(set, replay);
  result.late_starts = late_starts(set, replay);
  result.anomalies = ranked_anomalies(set);
  for (const Anomaly& a : replay.anomalies.list()) result.anomalies.push_back({-1, a});
  result.unreadable = set.unreadable;
  result.truncated = truncated_files(set);
  result.task_count = replay.task_count;
  result.edge_count = replay.edge_count;
  return result;
}

SetResult make_failed_result(std::string name, Diagnostic failure) {
  SetResult result;
  result.name = std::move(name);
  result.failure = std::move(failure);
  return result;
}

Overall summarise_sets(const std::vector<SetResult>& sets) {
  Overall all;
  for (const SetResult& set : sets) {
    if (set.failure || !set.damage.empty()) {
      ++(set.failure ? all.failed : all.damaged);
      continue;
    }
    const Quality& q = set.summary.quality;
    ++all.sets;
    all.host_sets += q.steps > 0 ? 1 : 0;
    all.gpu_sets += q.gpu_steps > 0 ? 1 : 0;
    all.mean_abs_error += q.mean_abs_error;
    all.max_abs_error = std::max(all.max_abs_error, q.max_abs_error);
    all.mean_abs_gpu_error += q.mean_abs_gpu_error;
    all.max_abs_gpu_error = std::max(all.max_abs_gpu_error, q.max_abs_gpu_error);
  }
  if (all.host_sets > 0) all.mean_abs_error /= static_cast<double>(all.host_sets);
  if (all.gpu_sets > 0) all.mean_abs_gpu_error /= static_cast<double>(all.gpu_sets);
  return all;
}

}  // namespace flopcast
