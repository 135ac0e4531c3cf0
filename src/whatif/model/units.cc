#include "whatif/model/units.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/numeric/median.h"
#include "flopcast/replay/network_times.h"
#include "flopcast/trace.h"
#include "whatif/model/segments.h"

namespace flopcast::whatif {
namespace {

using replaying::Call;
using replaying::Durations;
using replaying::GpuTask;
using replaying::HostThread;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::Recording;

/// Medians over copies, and edges by position.
class UnitFiller {
 public:
  UnitFiller(const TraceSet& set, const Recording& recording, const Durations& durations,
             ModelStage& stage)
      : set_(set),
        recording_(recording),
        rank_(recording.ranks[stage.rank]),
        durations_(durations.ranks[stage.rank]),
        stage_(stage) {}

  void run() {
    mark_waits();
    place_tasks();
    for (ModelUnit& unit : stage_.units) fill(unit);
    fill_edges();
    for (ModelBucket& bucket : stage_.buckets) bucket.bytes = bytes_of(bucket.task);
    tell_layers_of_buckets();
  }

 private:
  /// Pieces that wait, and gaps that do: no host time.
  void mark_waits() {
    for (const HostThread& thread : rank_.threads) {
      waits_.emplace_back(thread.pieces.size(), 0);
      idle_.emplace_back(thread.pieces.size(), 0);
    }
    for (const replaying::SyncWait& wait : recording_.sync_waits[stage_.rank].waits) {
      if (!wait.blocked) continue;
      const Call& call = rank_.calls[wait.call];
      for (std::uint32_t p = call.first_piece; p <= call.last_piece; ++p) {
        if (p < waits_[call.thread].size()) waits_[call.thread][p] = 1;
      }
    }
    for (const replaying::ThreadEdge& edge : recording_.thread_edges[stage_.rank]) {
      if (edge.hand_over) idle_[edge.to_thread][edge.to_piece] = 1;
    }
  }

  void place_tasks() {
    place_.assign(rank_.gpu.size(), {kNoIndex, 0});
    for (std::uint32_t s = 0; s < stage_.segments.size(); ++s) {
      for (std::uint32_t p = 0; p < stage_.segments[s].tasks.size(); ++p) {
        place_[stage_.segments[s].tasks[p]] = {s, p};
      }
    }
  }

  Time host_time(std::uint32_t thread, std::uint32_t from, std::uint32_t until) const {
    Time sum;
    for (std::uint32_t p = from; p < until; ++p) {
      if (!waits_[thread][p]) sum += durations_.piece[thread][p];
      if (!idle_[thread][p]) sum += durations_.gap[thread][p];
    }
    return sum;
  }

  std::int64_t bytes_of(std::uint32_t index) const {
    const GpuTask& task = rank_.gpu[index];
    const Events& ev = rank_.trace->events;
    if (task.collective != kNoIndex) return recording_.collectives[task.collective].bytes;
    const std::uint32_t detail = ev.detail[task.row];
    const bool copy =
        ev.category[task.row] == Category::kMemcpy || ev.category[task.row] == Category::kMemset;
    return copy && detail != kNoDetail ? rank_.trace->copies[detail].bytes : 0;
  }

  void fill(ModelUnit& unit) {
    for (std::uint32_t p = 0; p < unit.kernels.size(); ++p) {
      ModelKernel& kernel = unit.kernels[p];
      for (const std::uint32_t s : unit.segments) {
        kernel.tasks.push_back(stage_.segments[s].tasks[p]);
      }
      describe(kernel);
      fill_times(unit, p);
    }
    std::vector<Time> ends;
    for (const std::uint32_t s : unit.segments) {
      const ModelSegment& segment = stage_.segments[s];
      if (segment.thread == kNoIndex || segment.tasks.empty()) continue;
      const std::uint32_t after = rank_.calls[rank_.gpu[segment.tasks.back()].call].last_piece + 1;
      ends.push_back(
          host_time(segment.thread, std::min(after, segment.last_piece), segment.last_piece));
    }
    unit.host_end = upper_median(ends);
  }

  void describe(ModelKernel& kernel) const {
    const GpuTask& task = rank_.gpu[kernel.tasks.front()];
    const Events& ev = rank_.trace->events;
    kernel.name = ev.name[task.row];
    kernel.stream = task.stream;
    kernel.bytes = bytes_of(kernel.tasks.front());
    const std::uint32_t detail = ev.detail[task.row];
    if (ev.category[task.row] == Category::kKernel && detail != kNoDetail) {
      kernel.blocks = rank_.trace->kernels[detail].blocks;
    }
    if (kernel.op != kNoIndex && ev.detail[kernel.op] != kNoDetail) {
      kernel.dims = rank_.trace->ops[ev.detail[kernel.op]].input_dims;
    }
    const std::uint32_t about = ev.collective[task.row];
    if (about != kNoDetail) kernel.operation = rank_.trace->collectives[about].name;
  }

  void fill_times(ModelUnit& unit, std::uint32_t position) {
    ModelKernel& kernel = unit.kernels[position];
    std::vector<Time> durations, hosts, launches;
    for (std::size_t c = 0; c < kernel.tasks.size(); ++c) {
      const GpuTask& task = rank_.gpu[kernel.tasks[c]];
      durations.push_back(task.collective != kNoIndex ? durations_.transfer[kernel.tasks[c]]
                                                      : durations_.gpu[kernel.tasks[c]]);
      const ModelSegment& segment = stage_.segments[unit.segments[c]];
      if (task.call == kNoIndex || segment.thread == kNoIndex) continue;
      const Call& call = rank_.calls[task.call];
      if (call.gpu.front() != kernel.tasks[c]) continue;  // one launch of a whole graph
      std::uint32_t from = segment.first_piece;
      if (position > 0) {
        const std::uint32_t before = rank_.gpu[segment.tasks[position - 1]].call;
        from = rank_.calls[before].last_piece + 1;
      }
      hosts.push_back(
          host_time(segment.thread, std::min(from, call.first_piece), call.first_piece));
      if (!idle_[segment.thread][call.first_piece]) {
        hosts.back() += durations_.gap[segment.thread][call.first_piece];
      }
      launches.push_back(call.end - call.start);
    }
    kernel.duration = upper_median(durations);
    std::vector<Time> off;
    for (const Time d : durations) {
      off.push_back(d > kernel.duration ? d - kernel.duration : kernel.duration - d);
    }
    const Time deviation = upper_median(off);
    kernel.spread = kernel.duration.ps > 0 ? static_cast<double>(deviation.ps) /
                                                 static_cast<double>(kernel.duration.ps)
                                           : 0;
    kernel.host = upper_median(hosts);
    kernel.launch = upper_median(launches);
  }

  /// Which copy of a unit a segment is.
  std::uint32_t copy_of(std::uint32_t segment) const {
    const std::vector<std::uint32_t>& all = stage_.units[stage_.segments[segment].unit].segments;
    return static_cast<std::uint32_t>(std::lower_bound(all.begin(), all.end(), segment) -
                                      all.begin());
  }

  void fill_edges() {
    std::map<std::pair<std::uint32_t, std::uint32_t>,
             std::vector<std::pair<ModelEdge, std::uint32_t>>>
        found;  // [unit, position]: edge, copies that have it
    for (const replaying::GpuEdge& edge : recording_.cross_stream[stage_.rank].edges) {
      if (edge.kind == EdgeKind::kOccupancy) continue;  // the recording's timing, not its structure
      const auto [from_segment, from] = place_[edge.source];
      const auto [to_segment, to] = place_[edge.target];
      if (from_segment == kNoIndex || to_segment == kNoIndex) continue;
      ModelEdge made{edge.kind, stage_.segments[from_segment].unit, from, 0};
      const std::vector<std::uint32_t>& all = stage_.units[made.unit].segments;
      const auto until = static_cast<std::uint32_t>(
          std::upper_bound(all.begin(), all.end(), to_segment) - all.begin());
      made.back = until - 1 - copy_of(from_segment);
      auto& list = found[{stage_.segments[to_segment].unit, to}];
      const auto known =
          std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == made; });
      if (known == list.end()) {
        list.push_back({made, 1});
      } else {
        ++known->second;
      }
    }
    for (auto& [place, list] : found) {
      ModelUnit& unit = stage_.units[place.first];
      for (const auto& [edge, copies] : list) {
        if (2 * copies > unit.segments.size()) unit.kernels[place.second].after.push_back(edge);
      }
    }
  }

  /// A layer's gradients are ready when its backward (that of weights) has ended.
  void tell_layers_of_buckets() {
    std::uint32_t done = 0;  // segments before this one are in earlier buckets
    for (ModelBucket& bucket : stage_.buckets) {
      if (gathers(bucket)) continue;
      const ModelSegment& at = stage_.segments[bucket.segment];
      const std::uint32_t until = bucket.segment + (bucket.position >= at.tasks.size() ? 1 : 0);
      const std::uint32_t begin = std::max(done, begin_of_backward(bucket.segment));
      std::uint32_t first = kNoIndex, last = 0;
      for (std::uint32_t s = begin; s < until; ++s) {
        const ModelSegment& segment = stage_.segments[s];
        if (segment.layer == kNoIndex || stage_.units[segment.unit].pass == Pass::kForward)
          continue;
        first = std::min(first, segment.layer);
        last = std::max(last, segment.layer);
      }
      if (first != kNoIndex) {
        bucket.first_layer = first;
        bucket.last_layer = last;
      }
      done = std::max(done, until);
    }
  }

  bool gathers(const ModelBucket& bucket) const {
    const GpuTask& task = rank_.gpu[bucket.task];
    const Events& ev = rank_.trace->events;
    std::uint32_t name = ev.name[task.row];
    const std::uint32_t about = ev.collective[task.row];
    if (about != kNoDetail && rank_.trace->collectives[about].name != 0) {
      name = rank_.trace->collectives[about].name;
    }
    return replaying::operation_of(set_.strings[name]) == CollectiveOp::kAllGather;
  }

  /// The first segment of the last backward that began before or with this segment: of its step and
  /// microbatch. Where the gradients of weights are taken apart, of those: the inputs' were earlier.
  std::uint32_t begin_of_backward(std::uint32_t segment) const {
    std::uint32_t begin = segment + 1;
    std::uint32_t microbatch = kNoIndex;
    Pass half = Pass::kBackward;
    for (std::uint32_t s = segment + 1; s-- > 0;) {
      const ModelSegment& one = stage_.segments[s];
      if (one.step != stage_.segments[segment].step) break;
      const Pass pass = stage_.units[one.unit].pass;
      if (one.microbatch == kNoIndex || pass == Pass::kForward) continue;
      if (microbatch == kNoIndex) {
        microbatch = one.microbatch;
        half = pass;
      }
      if (one.microbatch == microbatch && pass == half) begin = s;
    }
    return begin;
  }

  const TraceSet& set_;
  const Recording& recording_;
  const RankModel& rank_;
  const Durations::Rank& durations_;
  ModelStage& stage_;
  std::vector<std::vector<std::uint8_t>> waits_, idle_;         ///< [thread][piece]
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place_;  ///< segment and position of a task
};

}  // namespace

void make_units(const TraceSet& set, const Recording& recording, const Durations& durations,
                const Program& program, const Passes& passes, const PassLabels& labels,
                const LayerPlan& plan, const Pipeline& pipeline, ModelStage& stage) {
  make_segments(recording.ranks[stage.rank], program, passes, labels, plan, pipeline, stage);
  cut_pieces(recording.ranks[stage.rank], recording.thread_edges[stage.rank], stage);
  UnitFiller(set, recording, durations, stage).run();
}

}  // namespace flopcast::whatif
