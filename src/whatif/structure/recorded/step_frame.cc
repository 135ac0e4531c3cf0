#include "whatif/structure/recorded/step_frame.h"

#include <algorithm>

#include "base/numeric/median.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::GpuEdge;
using replaying::GpuTask;
using replaying::RankModel;

/// Fewer launches on idle streams tell nothing.
constexpr std::size_t kEnoughLaunches = 5;

/// From the start of a call to the start of its task, where nothing else held the task back:
/// what other launches show is mostly backlog.
std::vector<Time> launches_on_idle_streams(const replaying::Recording& rec,
                                           const RecordedCuts& at) {
  std::vector<Time> latencies;
  for (std::uint32_t r = 0; r < rec.ranks.size(); ++r) {
    const RankModel& rank = rec.ranks[r];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      const GpuTask& task = rank.gpu[t];
      if (task.call == kNoIndex || replaying::starts_before_launch(rank, task)) continue;
      const Call& call = rank.calls[task.call];
      if (call.gpu.front() != t || replaying::launches_at_end(rank, task)) continue;
      bool idle = true;
      if (task.order > 0) {
        const std::uint32_t before = rank.streams[task.stream].tasks[task.order - 1];
        idle = rank.gpu[before].end <= call.start;
      }
      for (const GpuEdge* e : at.places[r].edges[t]) {
        idle = idle && rank.gpu[e->source].end <= call.start;
      }
      if (idle) latencies.push_back(task.start - call.start);
    }
  }
  return latencies;
}

}  // namespace

void add_typical_lags(const replaying::Recording& rec, const RecordedCuts& at, Library& out) {
  const replaying::Lags lags = measure_lags(rec, find_all_bindings(rec, 1), LagMode::kTypical);
  const auto middle = [&](auto&& of) {
    std::vector<Time> values;
    for (const auto& rank : lags.ranks) values.push_back(of(rank));
    return upper_median(values);
  };
  out.lags.launch_from_start = middle([](const auto& l) { return l.launch_from_start; });
  out.lags.launch_from_end = middle([](const auto& l) { return l.launch_from_end; });
  out.lags.sync = middle([](const auto& l) { return l.sync; });
  for (int kind = 0; kind < kEdgeKindCount; ++kind) {
    out.lags.overall[kind] = middle([&](const auto& l) { return l.overall[kind]; });
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        out.lags.between[kind][a][b] = middle([&](const auto& l) { return l.between[kind][a][b]; });
      }
    }
  }
  std::vector<Time> latencies = rec.launch_latency;
  out.launch_latency = upper_median(latencies);
  std::vector<Time> idle = launches_on_idle_streams(rec, at);
  if (idle.size() < kEnoughLaunches) return;
  out.lags.launch_from_start = upper_median(idle);
  out.launch_latency = std::min(out.launch_latency, out.lags.launch_from_start);
}

void add_step_frame(const TraceSet& set, const replaying::Recording& rec, const RecordedCuts& at,
                    Library& out) {
  for (std::uint32_t r = 0; r < rec.ranks.size(); ++r) {
    if (at.slots[r].empty()) continue;
    const RankModel& rank = rec.ranks[r];
    const auto& pieces = rank.threads[at.slots[r].front()].pieces;
    Time before = Time::min();
    for (const Step& step : find_steps(set, *rank.trace)) {
      if (step.event == kNoDetail) continue;
      const Time start = step.start + rank.host_offset;
      const Time end = step.end + rank.host_offset;
      const auto from = [](const replaying::Piece& p, Time t) { return p.start < t; };
      const auto first = std::lower_bound(pieces.begin(), pieces.end(), start, from);
      const auto last = std::lower_bound(first, pieces.end(), end, from);
      if (first == last) continue;
      out.frame.lead.add(first->start - start);
      out.frame.trail.add(std::max(Time{}, end - std::prev(last)->end));
      if (before != Time::min()) out.frame.between.add(std::max(Time{}, start - before));
      before = end;
    }
  }
}

}  // namespace flopcast::whatif::structure
