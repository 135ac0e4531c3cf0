// A made-up run of two ranks, small enough to check by hand; tests only.
//
//   us          0    5    10   15   20   25   30        40
//   rank 0 GPU  |--gemm--------|    |--ncclAllReduce----|        (rank 0 waits 5 us for rank 1)
//   rank 1 GPU       |--gemm--------|    |-ncclAllReduce|  copy 40-42
//   host        op 0-8 launches at 1 and 3; step ProfilerStep#1 0-44
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flopcast/report/replay.h"
#include "report/replay/gpu_activity.h"

namespace flopcast::test {

struct MadeRow {
  std::string name;
  Category category = Category::kKernel;
  std::int64_t start_us = 0, end_us = 0;
  std::int32_t stream = kNoStream;
};

inline void add_row(TraceSet& set, Trace& trace, const MadeRow& row) {
  Events& e = trace.events;
  const bool gpu = is_gpu_work(row.category);
  e.start.push_back(Time::from_us(row.start_us));
  e.duration.push_back(Time::from_us(row.end_us - row.start_us));
  e.name.push_back(set.strings.intern(row.name));
  e.track.push_back(gpu ? 1 : 0);
  e.category.push_back(row.category);
  e.stream.push_back(row.stream);
  e.device.push_back(gpu ? 0 : -1);
  e.correlation.push_back(kNoId);
  e.external_id.push_back(kNoId);
  e.detail.push_back(kNoDetail);
  e.collective.push_back(kNoDetail);
  ++trace.row_counts[static_cast<int>(row.category)];
}

inline Trace make_trace(TraceSet& set, std::int32_t rank, const std::vector<MadeRow>& rows) {
  Trace trace;
  trace.path = "made/rank" + std::to_string(rank) + ".json";
  trace.rank = rank;
  trace.world_size = 2;
  trace.clock_step = Time::from_ns(1);
  const std::uint32_t pid = set.strings.intern("1");
  const std::uint32_t gpu = set.strings.intern("0");
  const std::uint32_t stream = set.strings.intern("7");
  trace.tracks = {{pid, pid, 0, 0}, {gpu, stream, 0, 0}};
  for (const MadeRow& row : rows) add_row(set, trace, row);
  return trace;
}

inline TraceSet made_set() {
  TraceSet set;
  set.label = "made";
  const std::vector<MadeRow> host = {{"ProfilerStep#1", Category::kUserAnnotation, 0, 44},
                                     {"aten::mm", Category::kCpuOp, 0, 8},
                                     {"cudaLaunchKernel", Category::kRuntime, 1, 2},
                                     {"cudaLaunchKernel", Category::kRuntime, 3, 4}};
  std::vector<MadeRow> rank0 = host;
  rank0.push_back({"gemm", Category::kKernel, 0, 15, 7});
  rank0.push_back({"ncclDevKernel_AllReduce_Sum_f32_RING_LL", Category::kKernel, 20, 40, 7});
  std::vector<MadeRow> rank1 = host;
  rank1.push_back({"gemm", Category::kKernel, 5, 20, 7});
  rank1.push_back({"ncclDevKernel_AllReduce_Sum_f32_RING_LL", Category::kKernel, 25, 40, 7});
  rank1.push_back({"Memcpy DtoH", Category::kMemcpy, 40, 42, 7});
  set.traces.push_back(make_trace(set, 0, rank0));
  set.traces.push_back(make_trace(set, 1, rank1));
  return set;
}

inline Timeline recorded_times(const TraceSet& set) {
  Timeline times;
  for (const Trace& trace : set.traces) {
    times.start.push_back(trace.events.start);
    std::vector<Time> end;
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      end.push_back(trace.events.end(row));
    }
    times.end.push_back(end);
  }
  return times;
}

/// Of [from, to) of one rank. @param start,end times per row
inline Breakdown breakdown(const TraceSet& set, const Trace& trace, const std::vector<Time>& start,
                           const std::vector<Time>& end, Time from, Time to) {
  const report::KernelNames names(set.strings);
  return report::GpuActivity(report::GpuChanges(&names, trace, start, end)).within(from, to);
}

/// The replay starts every GPU row 1 us later than recorded, and the step ends 2 us later.
inline Replay made_replay(const TraceSet& set) {
  Replay replay;
  replay.recorded = recorded_times(set);
  replay.replayed = replay.recorded;
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    for (std::size_t row = 0; row < set.traces[t].events.size(); ++row) {
      if (!is_gpu_work(set.traces[t].events.category[row])) continue;
      replay.replayed.start[t][row] += Time::from_us(1);
      replay.replayed.end[t][row] += Time::from_us(1);
    }
    StepResult step;
    step.name = "ProfilerStep#1";
    step.measured_end = Time::from_us(44);
    step.replayed_end = Time::from_us(46);
    step.measured_gpu = Time::from_us(40);
    step.replayed_gpu = Time::from_us(39);
    step.start_error_median_s = 1e-6;
    replay.steps.push_back({step});
  }
  const std::uint32_t name = *set.strings.find("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  const auto us = [](std::int64_t v) { return Time::from_us(v); };
  replay.collectives.push_back(
      {name,
       0,
       4096,
       true,
       {{0, 5, us(5), us(15), us(5), us(15)}, {1, 5, us(0), us(15), us(0), us(15)}}});
  for (int kind = 0; kind < kEdgeKindCount; ++kind) {
    replay.edges.push_back({static_cast<EdgeKind>(kind), 2, 0, ""});
  }
  replay.critical_path.window_start = us(0);
  replay.critical_path.last_trace = 1;
  replay.critical_path.pieces = {{0, 1, TaskKind::kOperator, us(0), us(1)},
                                 {0, 2, TaskKind::kLaunch, us(1), us(2)},
                                 {0, 4, TaskKind::kCompute, us(4), us(19)},
                                 {1, 5, TaskKind::kTransfer, us(26), us(41)}};
  replay.sensitivity = SensitivityTable{us(39),
                                        {{"gemm", us(30), us(37), us(19)},
                                         {"all_reduce", us(30), us(39), us(39)},
                                         {"host", us(8), {}, {}}}};
  replay.pinned = {{"kernel durations", 5, us(0)}};
  replay.late_starts = {{1, 5, us(20)}};
  replay.lag_table = {{0, EdgeKind::kLaunch, 4, us(5), us(4)}};
  replay.clocks = {{0, us(0), us(0)}, {1, us(3), us(0)}};
  replay.task_count = 20;
  replay.edge_count = 16;
  return replay;
}

}  // namespace flopcast::test
