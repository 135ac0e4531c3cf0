#include <algorithm>
#include <map>

#include "base/numeric/median.h"
#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

std::uint64_t launch_shape(const RankModel& rank, const GpuTask& task) {
  const Events& ev = rank.trace->events;
  const std::uint32_t detail =
      ev.category[task.row] == Category::kKernel ? ev.detail[task.row] : kNoDetail;
  const std::uint64_t blocks = detail == kNoDetail ? 0 : rank.trace->kernels[detail].blocks;
  return blocks << 32 ^ ev.name[task.row];
}

namespace {

/// A typical launch lag beyond the smallest by more than this is backlog, not latency.
constexpr Time kLaunchSpread = Time::from_us(10);

/// How far into each kernel others got hold of its SMs, by the occupancy edges found.
void measure_occupancy(const Recording& recording, Lags& lags) {
  constexpr std::int64_t kMillion = 1000000;
  std::map<std::uint64_t, std::vector<std::int64_t>> parts;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    for (const GpuEdge& e : recording.cross_stream[r].edges) {
      const GpuTask& source = rank.gpu[e.source];
      if (e.kind != EdgeKind::kOccupancy || source.end <= source.start) continue;
      const Time until = rank.gpu[e.target].start - source.start;
      const auto part =
          static_cast<std::int64_t>(static_cast<double>(until.ps) /
                                    static_cast<double>((source.end - source.start).ps) * kMillion);
      parts[launch_shape(rank, source)].push_back(std::min(part, kMillion));
    }
  }
  for (auto& [shape, list] : parts) {
    lags.occupied_ppm[shape] = upper_median(list);
  }
}

}  // namespace

Time Lags::occupied(std::uint64_t shape, Time duration) const {
  const auto it = occupied_ppm.find(shape);
  if (it == occupied_ppm.end()) return duration;
  return {static_cast<std::int64_t>(static_cast<double>(duration.ps) *
                                    static_cast<double>(it->second) * 1e-6)};
}

std::vector<Binding> find_bindings(const Recording& recording, std::uint32_t r, bool occupancy) {
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
    const std::uint32_t before =
        task.order > 0 ? rank.streams[task.stream].tasks[task.order - 1] : kNoIndex;
    // Later rows of one launch (a graph) are held by the rows before them.
    const bool same_launch =
        before != kNoIndex && task.call != kNoIndex && rank.gpu[before].call == task.call;
    if (task.call != kNoIndex && !same_launch && !starts_before_launch(rank, task)) {
      const Call& call = rank.calls[task.call];
      if (launches_at_end(rank, task)) {
        offer(t, call.end, {EdgeKind::kLaunch, kNoIndex, true, call.end, true});
      } else {
        offer(t, call.start + latency, {EdgeKind::kLaunch, kNoIndex, false, call.start, true});
      }
    }
    if (before != kNoIndex) {
      const Time end = rank.gpu[before].end;
      offer(t, end, {same_launch ? EdgeKind::kGraph : EdgeKind::kStream, before, false, end, true});
    }
  }
  for (const GpuEdge& e : recording.cross_stream[r].edges) {
    if (!occupancy && e.kind == EdgeKind::kOccupancy) continue;
    const Time end = rank.gpu[e.source].end;
    offer(e.target, end, {e.kind, e.source, false, end, true});
  }
  return bindings;
}

std::vector<std::vector<Binding>> find_all_bindings(const Recording& recording, unsigned threads) {
  std::vector<std::vector<Binding>> bindings(recording.ranks.size());
  parallel_for(bindings.size(), threads, [&](std::size_t r) {
    bindings[r] = find_bindings(recording, static_cast<std::uint32_t>(r));
  });
  return bindings;
}

GpuClass gpu_class(const RankModel& rank, const GpuTask& task) {
  if (rank.trace->events.category[task.row] != Category::kKernel) return GpuClass::kCopy;
  return task.communication ? GpuClass::kCommunication : GpuClass::kCompute;
}

namespace {

/// Recorded lags of one rank, sorted into bins.
struct LagSamples {
  std::vector<Time> launch_from_start, launch_from_end, sync;
  std::vector<Time> kind[kEdgeKindCount];
  std::vector<Time> between[kEdgeKindCount][3][3];
};

LagSamples collect_lags(const Recording& recording, std::uint32_t r,
                        const std::vector<Binding>& bindings) {
  const RankModel& rank = recording.ranks[r];
  LagSamples samples;
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const Binding& b = bindings[t];
    if (!b.any) continue;
    const Time lag = rank.gpu[t].start - b.base;
    const int kind = static_cast<int>(b.kind);
    if (b.kind == EdgeKind::kLaunch)
      (b.from_end ? samples.launch_from_end : samples.launch_from_start).push_back(lag);
    samples.kind[kind].push_back(lag);
    if (b.source == kNoIndex) continue;
    const int source = static_cast<int>(gpu_class(rank, rank.gpu[b.source]));
    samples.between[kind][source][static_cast<int>(gpu_class(rank, rank.gpu[t]))].push_back(lag);
  }
  for (const SyncWait& wait : recording.sync_waits[r].waits) {
    if (wait.blocked && !wait.host_remainder) samples.sync.push_back(wait.after);
  }
  samples.kind[static_cast<int>(EdgeKind::kSync)] = samples.sync;
  return samples;
}

/// Medians; a bin without samples takes its kind's. In-stream lags are never negative: overlap is
/// kept apart.
Lags::Rank typical_lags(LagSamples& samples, Time latency) {
  Lags::Rank out;
  out.launch_from_start = std::clamp(upper_median(samples.launch_from_start, latency), latency,
                                     latency + kLaunchSpread);
  out.launch_from_end = upper_median(samples.launch_from_end, Time{});
  out.sync = upper_median(samples.sync, Time{});
  for (int kind = 0; kind < kEdgeKindCount; ++kind) {
    const bool in_stream =
        kind == static_cast<int>(EdgeKind::kStream) || kind == static_cast<int>(EdgeKind::kGraph);
    const Time least = in_stream ? Time{} : Time::min();
    out.overall[kind] = std::max(least, upper_median(samples.kind[kind], Time{}));
    for (int source = 0; source < 3; ++source) {
      for (int target = 0; target < 3; ++target) {
        out.between[kind][source][target] =
            std::max(least, upper_median(samples.between[kind][source][target], out.overall[kind]));
      }
    }
  }
  return out;
}

}  // namespace

Lags measure_lags(const Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                  LagMode mode) {
  Lags lags;
  lags.mode = mode;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    LagSamples samples = collect_lags(recording, r, bindings[r]);
    Lags::Rank out;
    out.launch_from_start = recording.launch_latency[r];
    if (mode != LagMode::kZero) out = typical_lags(samples, recording.launch_latency[r]);
    for (int kind = 0; kind < kEdgeKindCount; ++kind) out.samples[kind] = samples.kind[kind].size();
    lags.ranks.push_back(out);
  }
  measure_occupancy(recording, lags);
  return lags;
}

Time recorded_transfer(const Recording& recording, std::uint32_t rank, std::uint32_t task) {
  const GpuTask& t = recording.ranks[rank].gpu[task];
  if (t.collective == kNoIndex) return t.end - t.start;
  for (const CollectiveMember& m : recording.collectives[t.collective].members) {
    if (m.rank == rank && m.task == task) return t.end - m.latest_arrival;
  }
  return t.end - t.start;
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

}  // namespace flopcast::replaying
