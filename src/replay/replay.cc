#include "flopcast/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/format.h"
#include "flopcast/replay/assembly.h"
#include "flopcast/replay/damage.h"
#include "flopcast/replay/network_times.h"
#include "flopcast/replay/timeline.h"
#include "replay/causes/critical_path.h"
#include "replay/check_answer.h"
#include "replay/step_groups.h"
#include "replay/transplant.h"

namespace flopcast {

using namespace replaying;  // the room's own names

namespace {

void count_edges(const Recording& rec, const Assembly& assembly, Replay& out) {
  out.edges.resize(kEdgeKindCount);
  for (int k = 0; k < kEdgeKindCount; ++k)
    out.edges[static_cast<std::size_t>(k)].kind = static_cast<EdgeKind>(k);
  const auto of = [&](EdgeKind kind) -> EdgeCount& {
    return out.edges[static_cast<std::size_t>(kind)];
  };
  const Graph& g = assembly.graph;
  for (std::size_t e = 0; e < g.edge_count(); ++e) ++of(g.edge_kind(e)).count;
  of(EdgeKind::kSync).count += g.wait_sources.size();
  const auto contradict = [&](EdgeKind kind, const Contradictions& c) {
    of(kind).contradicted += c.count;
    if (of(kind).example.empty()) of(kind).example = c.example;
  };
  for (std::size_t r = 0; r < rec.ranks.size(); ++r) {
    contradict(EdgeKind::kEvent, rec.cross_stream[r].event);
    contradict(EdgeKind::kEventInferred, rec.cross_stream[r].inferred);
    contradict(EdgeKind::kSync, rec.sync_waits[r].contradicted);
    for (const Stream& s : rec.ranks[r].streams)
      of(EdgeKind::kStream).count += s.tasks.empty() ? 0 : s.tasks.size() - 1;
    for (const GpuTask& t : rec.ranks[r].gpu) {
      if (t.call != kNoIndex && starts_before_launch(rec.ranks[r], t))
        ++of(EdgeKind::kLaunch).contradicted;
    }
  }
}

bool is_blocking_copy(const Recording& rec, std::uint32_t r, std::uint32_t task) {
  const std::vector<SyncWait>& waits = rec.sync_waits[r].waits;
  const std::uint32_t call = rec.ranks[r].gpu[task].call;
  const auto it = std::lower_bound(waits.begin(), waits.end(), call,
                                   [](const SyncWait& w, std::uint32_t c) { return w.call < c; });
  return it != waits.end() && it->call == call;
}

/// GPU tasks that start later than their latest constraint and the typical lag after it.
void list_late_starts(const Recording& rec, const std::vector<std::vector<Binding>>& bindings,
                      const Lags& lags, const Assembly& assembly, Replay& out) {
  for (std::uint32_t r = 0; r < rec.ranks.size(); ++r) {
    const Lags::Rank& lag = lags.ranks[r];
    for (std::uint32_t t = 0; t < rec.ranks[r].gpu.size(); ++t) {
      const Binding& b = bindings[r][t];
      if (!b.any || assembly.is_pinned[r][t] ||
          (b.kind == EdgeKind::kLaunch && is_blocking_copy(rec, r, t)))
        continue;
      Time typical = b.from_end ? lag.launch_from_end : lag.launch_from_start;
      if (b.source != kNoIndex) {
        const RankModel& rank = rec.ranks[r];
        typical =
            lag.after(b.kind, gpu_class(rank, rank.gpu[b.source]), gpu_class(rank, rank.gpu[t]));
      }
      const Time late = rec.ranks[r].gpu[t].start - b.base - typical;
      if (late > kLate) out.late_starts.push_back({r, rec.ranks[r].gpu[t].row, late});
    }
  }
  std::sort(out.late_starts.begin(), out.late_starts.end(),
            [](const LateStart& a, const LateStart& b) {
              return std::tuple(-a.late, a.trace, a.row) < std::tuple(-b.late, b.trace, b.row);
            });
}

void list_lags(const Recording& rec, const Lags& lags, Replay& out) {
  for (std::uint32_t r = 0; r < rec.ranks.size(); ++r) {
    const Lags::Rank& l = lags.ranks[r];
    for (int k = 0; k < kEdgeKindCount; ++k) {
      const auto kind = static_cast<EdgeKind>(k);
      if (kind == EdgeKind::kOccupancy || kind == EdgeKind::kThread ||
          kind == EdgeKind::kRendezvous)
        continue;
      const bool launch = kind == EdgeKind::kLaunch;
      const Time typical = launch                    ? l.launch_from_start
                           : kind == EdgeKind::kSync ? l.sync
                                                     : l.overall[k];
      const Time smallest = launch ? rec.launch_latency[r] : Time{};
      out.lag_table.push_back({rec.ranks[r].rank, kind, l.samples[k], typical, smallest});
    }
  }
}

/// Kernels that send and receive do all-to-alls, too: these have more than two ranks.
bool is_point_to_point(const TraceSet& set, const Recording& rec, const Collective& c) {
  if (c.members.size() != 2) return false;
  const CollectiveMember& first = c.members.front();
  const RankModel& rank = rec.ranks[first.rank];
  const std::uint32_t kernel = rank.trace->events.name[rank.gpu[first.task].row];
  return operation_of(set.strings[c.name], set.strings[kernel]) == CollectiveOp::kSendRecv;
}

void list_collectives(const TraceSet& set, const Recording& rec, Replay& out) {
  for (const Collective& c : rec.collectives) {
    CollectiveInstance instance{c.name, c.group, c.bytes, c.rendezvous(), {}};
    instance.point_to_point = is_point_to_point(set, rec, c);
    Time arrived = Time::min();
    for (const CollectiveMember& m : c.members) {
      const std::uint32_t row = rec.ranks[m.rank].gpu[m.task].row;
      arrived = std::max(arrived, out.replayed.start[m.rank][row]);
    }
    for (const CollectiveMember& m : c.members) {
      const GpuTask& task = rec.ranks[m.rank].gpu[m.task];
      const Time end = out.replayed.end[m.rank][task.row];
      const Time start = out.replayed.start[m.rank][task.row];
      const Time latest = std::clamp(arrived, start, std::max(start, end));
      const Time recorded = std::min(m.latest_arrival, task.end);
      instance.members.push_back({m.rank, task.row, recorded - task.start, task.end - recorded,
                                  latest - start, end - latest});
    }
    out.collectives.push_back(std::move(instance));
  }
}

Diagnostic nothing_to_replay(const TraceSet& set) {
  std::uint64_t rows = 0;
  for (const Trace& trace : set.traces) {
    rows += trace.other_rows;
    for (const std::uint64_t count : trace.row_counts) rows += count;
  }
  return {ErrorCode::kBadInput, set.label,
          fmt::format("nothing to replay here: none of {} rows is an operator, a runtime call or "
                      "GPU work as PyTorch's profiler writes them",
                      rows),
          "record with torch.profiler and its CPU and CUDA activities"};
}

/// The graph of a recording, run; holds are found on the way.
Result<Run> run_recording(const TraceSet& set, const ReplayOptions& options, const Lags& lags,
                          const std::vector<std::vector<Binding>>& bindings, Recording& rec,
                          Assembly& assembly, Replay& out) {
  Durations durations = recorded_durations(rec);
  if (options.network) {
    Result<NetworkUse> use = apply_network(set, rec, *options.network, durations);
    if (!use) return use.error();
    out.network = std::move(*use);
    out.network->cluster = options.network_name;
  }
  Result<Run> run = Run{};
  find_holds(rec, bindings, [&] {
    assembly = assemble(rec, durations, lags, bindings, options.baseline);
    run = simulate(assembly.graph, assembly.release, &set.strings);
    return run.ok();
  });
  if (assembly.graph.task_count() == 0) return nothing_to_replay(set);
  return run;
}

}  // namespace

const char* lag_mode_name(LagMode mode) {
  static constexpr const char* kNames[] = {"typical", "zero", "recorded"};
  return kNames[static_cast<int>(mode)];
}

std::optional<double> SensitivityTable::change(const std::optional<Time>& then) const {
  return then ? relative_error(gpu_step, *then) : std::nullopt;
}

const char* baseline_name(Baseline baseline) {
  static constexpr const char* kNames[] = {"full", "single-stream", "no-inter-stream", "dpro"};
  return kNames[static_cast<int>(baseline)];
}

void replaying::tell_run(const TraceSet& set, const Recording& rec,
                         const std::vector<std::vector<Binding>>& bindings, const Lags& lags,
                         const Assembly& assembly, const Run& run, unsigned threads, Replay& out) {
  out.lags = lags.mode;
  out.recorded = recorded_timeline(set, rec, threads);
  out.replayed = replayed_timeline(rec, out.recorded, assembly, run, threads);
  out.steps.resize(rec.ranks.size());
  parallel_for(rec.ranks.size(), threads, [&](std::size_t r) {
    out.steps[r] = step_results(set, rec.ranks[r], out.recorded, out.replayed);
  });
  out.critical_path = critical_path(assembly, run);
  out.pinned = assembly.pinned;
  out.task_count = assembly.graph.task_count();
  out.edge_count = assembly.graph.edge_count();
  count_edges(rec, assembly, out);
  list_late_starts(rec, bindings, lags, assembly, out);
  out.damage = find_damage(set, rec, bindings, out.late_starts);
  list_lags(rec, lags, out);
  list_collectives(set, rec, out);
}

Result<Replay> replay(const TraceSet& set, const ReplayOptions& options) {
  Replay out;
  out.lags = options.lags;
  out.baseline = options.baseline;
  Recording rec = find_dependencies(set, options.threads, out);
  if (options.structure_from.has_value() != options.durations_from.has_value()) {
    return Diagnostic{ErrorCode::kUsage, "replay", "structure-from and durations-from go together",
                      "name both steps"};
  }
  if (options.structure_from) {
    const auto problem = transplant(set, rec, *options.structure_from, *options.durations_from);
    if (problem) return *problem;
  }
  std::vector<std::vector<Binding>> bindings = find_all_bindings(rec, options.threads);
  if (options.lags == LagMode::kRecorded) find_rooms(rec, bindings);
  const Lags lags = measure_lags(rec, bindings, options.lags);
  Assembly assembly;
  Result<Run> run = run_recording(set, options, lags, bindings, rec, assembly, out);
  if (!run) return run.error();
  tell_run(set, rec, bindings, lags, assembly, *run, options.threads, out);
  if (auto problem = check_answer(out)) return *std::move(problem);
  return out;
}

StepComparison compare_steps(const TraceSet& set, unsigned threads) {
  Replay scratch;
  return group_steps(set, find_dependencies(set, threads, scratch));
}

}  // namespace flopcast
