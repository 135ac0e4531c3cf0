#include <algorithm>
#include <map>

#include "replay/assemble.h"

namespace flopcast {
namespace {

/// A typical launch lag beyond the smallest by more than this is backlog, not latency.
constexpr Time kLaunchSpread = Time::from_us(10);

Time median_or(std::vector<Time>& values, Time otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// How far into each kernel others got hold of its SMs, by the occupancy edges found.
void measure_occupancy(const Recording& recording, Lags& lags) {
  constexpr std::int64_t kMillion = 1000000;
  std::map<std::uint32_t, std::vector<std::int64_t>> parts;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    for (const GpuEdge& e : recording.cross_stream[r].edges) {
      const GpuTask& source = rank.gpu[e.source];
      if (e.kind != EdgeKind::kOccupancy || source.end <= source.start) continue;
      const Time until = rank.gpu[e.target].start - source.start;
      const auto part = static_cast<std::int64_t>(static_cast<double>(until.ps) /
                                                  static_cast<double>((source.end - source.start).ps) * kMillion);
      parts[rank.trace->events.name[source.row]].push_back(std::min(part, kMillion));
    }
  }
  for (auto& [name, list] : parts) {
    std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), list.end());
    lags.occupied_ppm[name] = list[list.size() / 2];
  }
}

}  // namespace

Time Lags::occupied(std::uint32_t name, Time duration) const {
  const auto it = occupied_ppm.find(name);
  if (it == occupied_ppm.end()) return duration;
  return {static_cast<std::int64_t>(static_cast<double>(duration.ps) * static_cast<double>(it->second) * 1e-6)};
}

std::vector<Binding> find_bindings(const Recording& recording, std::uint32_t r) {
  const RankModel& rank = recording.ranks[r];
  const Time latency = recording.launch_latency[r];
  std::vector<Binding> bindings(rank.gpu.size());
  std::vector<Time> reach(rank.gpu.size(), Time::min());
  const auto offer = [&](std::uint32_t t, Time at, const Binding& binding) {
    if (at > reach[t]) {
      reach[t] = at;
      bindings[t] = binding;
    }
  };
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const GpuTask& task = rank.gpu[t];
    if (task.call != kNone && !starts_before_launch(rank, task)) {
      const Call& call = rank.calls[task.call];
      if (launches_at_end(rank, task)) {
        offer(t, call.end, {EdgeKind::kLaunch, kNone, true, call.end, true});
      } else {
        offer(t, call.start + latency, {EdgeKind::kLaunch, kNone, false, call.start, true});
      }
    }
    if (task.order > 0) {
      const std::uint32_t before = rank.streams[task.stream].tasks[task.order - 1];
      const bool same_launch = task.call != kNone && rank.gpu[before].call == task.call;
      const Time end = rank.gpu[before].end;
      offer(t, end, {same_launch ? EdgeKind::kGraph : EdgeKind::kStream, before, false, end, true});
    }
  }
  for (const GpuEdge& e : recording.cross_stream[r].edges) {
    const Time end = rank.gpu[e.source].end;
    offer(e.target, end, {e.kind, e.source, false, end, true});
  }
  return bindings;
}

Lags measure_lags(const Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                  LagMode mode) {
  Lags lags;
  lags.mode = mode;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    const Time latency = recording.launch_latency[r];
    std::vector<Time> samples[kEdgeKindCount];
    std::vector<Time> at_end;
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      const Binding& b = bindings[r][t];
      if (!b.any) continue;
      const Time lag = rank.gpu[t].start - b.base;
      (b.from_end ? at_end : samples[static_cast<int>(b.kind)]).push_back(lag);
    }
    for (const SyncWait& wait : recording.sync_waits[r].waits) {
      if (wait.blocked && !wait.host_remainder) samples[static_cast<int>(EdgeKind::kSync)].push_back(wait.after);
    }
    Lags::Rank out;
    for (int k = 0; k < kEdgeKindCount; ++k) out.samples[k] = samples[k].size();
    out.launch_from_start = latency;
    if (mode != LagMode::kZero) {
      const auto typical = [&](EdgeKind kind) { return median_or(samples[static_cast<int>(kind)], Time{}); };
      out.launch_from_start =
          std::clamp(median_or(samples[static_cast<int>(EdgeKind::kLaunch)], latency), latency, latency + kLaunchSpread);
      out.launch_from_end = median_or(at_end, Time{});
      out.stream = std::max(Time{}, typical(EdgeKind::kStream));
      out.graph = std::max(Time{}, typical(EdgeKind::kGraph));
      out.event = typical(EdgeKind::kEvent);
      out.event_inferred = typical(EdgeKind::kEventInferred);
      out.sync = typical(EdgeKind::kSync);
    }
    lags.ranks.push_back(out);
  }
  measure_occupancy(recording, lags);
  return lags;
}

Durations recorded_durations(const Recording& recording) {
  Durations all;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    Durations::Rank d;
    for (const HostThread& thread : rank.threads) {
      std::vector<Time> piece, gap;
      Time end = thread.pieces.empty() ? Time{} : thread.pieces.front().start;
      for (const Piece& p : thread.pieces) {
        piece.push_back(p.end - p.start);
        gap.push_back(p.start - end);
        end = p.end;
      }
      d.piece.push_back(std::move(piece));
      d.gap.push_back(std::move(gap));
    }
    for (const GpuTask& t : rank.gpu) d.gpu.push_back(t.end - t.start);
    d.transfer = d.gpu;
    for (const SyncWait& w : recording.sync_waits[r].waits) d.after_sync.push_back(w.after);
    all.ranks.push_back(std::move(d));
  }
  for (const Collective& c : recording.collectives) {
    for (const CollectiveMember& m : c.members) {
      const GpuTask& t = recording.ranks[m.rank].gpu[m.task];
      all.ranks[m.rank].transfer[m.task] = t.end - m.latest_arrival;
    }
  }
  return all;
}

}  // namespace flopcast
