// The page of a live run: the one of a replay, where what was recorded and what was replayed are the same.
#include <algorithm>

#include "flopcast/replay.h"
#include "flopcast/report/live.h"
#include "flopcast/report/replay.h"

namespace flopcast {
namespace {

Timeline times_of(const TraceSet& set) {
  Timeline times;
  for (const Trace& trace : set.traces) {
    times.start.push_back(trace.events.start);
    auto& ends = times.end.emplace_back();
    for (std::size_t row = 0; row < trace.events.size(); ++row)
      ends.push_back(trace.events.end(row));
  }
  return times;
}

std::vector<StepResult> results_of(const std::vector<LiveStep>& steps) {
  std::vector<StepResult> results;
  for (const LiveStep& step : steps) {
    StepResult& result = results.emplace_back();
    result.name = "step " + std::to_string(results.size());
    result.measured_start = result.replayed_start = step.start;
    result.measured_end = result.replayed_end = step.end;
    result.measured_gpu = result.replayed_gpu = step.end - step.start;
  }
  return results;
}

}  // namespace

std::string live_html(const LiveReport& report) {
  const TraceSet& set = *report.timeline;
  Replay replay;
  replay.recorded = replay.replayed = times_of(set);
  for (const Trace& trace : set.traces) {
    const auto rank = std::find_if(report.ranks.begin(), report.ranks.end(),
                                   [&](const LiveRank& one) { return one.rank == trace.rank; });
    replay.steps.push_back(rank == report.ranks.end() ? std::vector<StepResult>()
                                                      : results_of(rank->steps));
  }
  replay.task_count = report.tasks;
  return replay_html(set, replay);
}

}  // namespace flopcast
