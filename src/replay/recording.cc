#include "flopcast/replay/recording.h"

#include <algorithm>

#include "flopcast/engine.h"
#include "flopcast/replay/assembly.h"
#include "replay/clocks.h"

namespace flopcast::replaying {

/// Ranks' clocks agree no better than this.
constexpr Time kLeastTolerance = Time::from_us(5);

namespace {

/// Whether a replay with recorded lags comes to its end.
bool runs(const Recording& recording, const std::vector<std::vector<Binding>>& bindings) {
  const Lags lags = measure_lags(recording, bindings, LagMode::kRecorded);
  const Assembly assembly =
      assemble(recording, recorded_durations(recording), lags, bindings, Baseline::kNone);
  return simulate(assembly.graph, assembly.release).ok();
}

}  // namespace

Recording find_dependencies(const TraceSet& set, unsigned threads, Replay& notes) {
  Recording rec;
  const std::size_t n = set.traces.size();
  std::int64_t origin = set.traces.empty() ? 0 : set.traces[0].origin_ns;
  for (const Trace& trace : set.traces) origin = std::min(origin, trace.origin_ns);
  rec.ranks.resize(n);
  parallel_for(n, threads, [&](std::size_t i) {
    const Time offset = Time::from_ns(set.traces[i].origin_ns - origin);
    rec.ranks[i] = make_rank_model(set, static_cast<std::uint32_t>(i), offset);
    align_gpu_clock(rec.ranks[i]);
  });
  rec.collectives = match_collectives(set, rec.ranks, notes.anomalies);
  notes.clock_residual = align_rank_clocks(rec.ranks, rec.collectives);
  update_arrivals(rec.ranks, rec.collectives);
  // What ends at once ends at moments so far apart: nothing shorter tells who left first.
  const Time tolerance = std::max(kLeastTolerance, Time{4 * notes.clock_residual.ps});
  settle_contributors(set, rec.ranks, tolerance, rec.collectives);
  rec.cross_stream.resize(n);
  rec.sync_waits.resize(n);
  rec.thread_edges.resize(n);
  rec.launch_latency.resize(n);
  parallel_for(n, threads, [&](std::size_t i) {
    rec.launch_latency[i] = smallest_launch_latency(rec.ranks[i]);
    rec.cross_stream[i] = find_cross_stream(set, rec.ranks[i], rec.launch_latency[i]);
    rec.sync_waits[i] = find_sync_waits(set, rec.ranks[i]);
    rec.thread_edges[i] = find_thread_edges(rec.ranks[i]);
  });
  for (std::size_t i = 0; i < n; ++i) {
    const Time whole = Time::from_ns(set.traces[i].origin_ns - origin);
    notes.clocks.push_back(
        {rec.ranks[i].rank, rec.ranks[i].host_offset - whole, rec.ranks[i].gpu_offset});
  }
  find_launch_queue(rec);
  return rec;
}

Recording make_recording(const TraceSet& set, unsigned threads, Replay& notes) {
  Recording rec = find_dependencies(set, threads, notes);
  const std::vector<std::vector<Binding>> bindings = find_all_bindings(rec, threads);
  find_rooms(rec, bindings);
  find_holds(rec, bindings, [&] { return runs(rec, bindings); });
  return rec;
}

}  // namespace flopcast::replaying
