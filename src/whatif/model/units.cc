#include "whatif/model/units.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/numeric/median.h"
#include "flopcast/replay/network_times.h"
#include "flopcast/trace.h"

namespace flopcast::whatif {
namespace {

using replaying::Call;
using replaying::Durations;
using replaying::GpuTask;
using replaying::HostThread;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::Recording;

/// What makes segments copies of one unit.
struct UnitKey {
  UnitPart part = UnitPart::kRest;
  Pass pass = Pass::kOther;
  std::vector<std::uint32_t> tokens;
  std::vector<bool> recomputed;
  auto operator<=>(const UnitKey&) const = default;
};

UnitPart part_of_label(std::int32_t label) {
  return label == kBeforeLayers  ? UnitPart::kBefore
         : label == kAfterLayers ? UnitPart::kAfter
                                 : UnitPart::kLayer;
}

/// Cuts stretches into segments and groups them into units.
class SegmentMaker {
 public:
  SegmentMaker(const RankModel& rank, const Program& program, const Passes& passes,
               const PassLabels& labels, const LayerPlan& plan, const Pipeline& pipeline,
               ModelStage& stage)
      : rank_(rank),
        program_(program),
        passes_(passes),
        labels_(labels),
        plan_(plan),
        pipeline_(pipeline),
        stage_(stage) {}

  void run() {
    for (std::uint32_t s = 0; s < passes_.stretches.size(); ++s) cut(s);
    for (const Rider& rider : passes_.riders) add_bucket(rider);
  }

 private:
  void cut(std::uint32_t s) {
    const Stretch& stretch = passes_.stretches[s];
    starts_.push_back({static_cast<std::uint32_t>(stage_.segments.size()), {}});
    std::vector<std::uint32_t>& starts = starts_.back().second;
    for (std::uint32_t i = 0; i < stretch.works.size(); ++i) {
      const bool new_layer = labels_[s] && i > 0 && (*labels_[s])[i] != (*labels_[s])[i - 1];
      if (i == 0 || new_layer) starts.push_back(i);
    }
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const auto until =
          k + 1 < starts.size() ? starts[k + 1] : static_cast<std::uint32_t>(stretch.works.size());
      add_segment(s, starts[k], until);
    }
  }

  void add_segment(std::uint32_t s, std::uint32_t from, std::uint32_t until) {
    const Stretch& stretch = passes_.stretches[s];
    ModelSegment segment;
    segment.step = stretch.step;
    segment.microbatch = stretch.microbatch;
    segment.chunk = stretch.chunk;
    segment.thread = stretch.thread;
    UnitKey key;
    key.pass = stretch.pass;
    if (stretch.sort == Stretch::Sort::kExchange) {
      key.part = UnitPart::kExchange;
    } else if (stretch.sort == Stretch::Sort::kPass) {
      key.part = UnitPart::kWhole;
      if (labels_[s]) {
        const std::int32_t label = (*labels_[s])[from];
        key.part = part_of_label(label);
        const std::uint32_t part = pipeline_.part_of(pipeline_.stage[stage_.rank], stretch.chunk);
        if (key.part == UnitPart::kLayer) {
          segment.layer = plan_.parts[part].first_layer + static_cast<std::uint32_t>(label);
        }
      }
    }
    const std::vector<std::uint32_t> works = works_of(stretch, from, until);
    for (const std::uint32_t w : works) {
      const Work& work = program_.works[w];
      segment.tasks.push_back(work.task);
      key.tokens.push_back(work.token);
      key.recomputed.push_back(work.recomputed);
    }
    const auto [known, fresh] =
        units_.try_emplace(key, static_cast<std::uint32_t>(stage_.units.size()));
    segment.unit = known->second;
    if (fresh) add_unit(works, key);
    stage_.units[segment.unit].segments.push_back(
        static_cast<std::uint32_t>(stage_.segments.size()));
    stage_.segments.push_back(std::move(segment));
  }

  /// In launch order; where launches order nothing, stream by stream.
  std::vector<std::uint32_t> works_of(const Stretch& stretch, std::uint32_t from,
                                      std::uint32_t until) const {
    std::vector<std::uint32_t> works(stretch.works.begin() + from, stretch.works.begin() + until);
    if (!plan_.stream) return works;
    const auto stream_of = [this](std::uint32_t w) {
      return rank_.streams[rank_.gpu[program_.works[w].task].stream].id;
    };
    std::stable_sort(works.begin(), works.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return stream_of(a) < stream_of(b); });
    return works;
  }

  void add_unit(const std::vector<std::uint32_t>& works, const UnitKey& key) {
    ModelUnit unit;
    unit.pass = key.pass;
    unit.part = key.part;
    unit.recomputes =
        std::find(key.recomputed.begin(), key.recomputed.end(), true) != key.recomputed.end();
    unit.name = key.part == UnitPart::kRest ? pass_name(key.pass)
                : key.part == UnitPart::kExchange
                    ? "exchange"
                    : std::string(pass_name(key.pass)) + ' ' + unit_part_name(key.part);
    for (const std::uint32_t w : works) {
      const Work& work = program_.works[w];
      ModelKernel kernel;
      kernel.op = work.op_row;
      kernel.group = work.group;
      kernel.recomputed = work.recomputed;
      unit.kernels.push_back(std::move(kernel));
    }
    stage_.units.push_back(std::move(unit));
  }

  void add_bucket(const Rider& rider) {
    const Work& work = program_.works[rider.work];
    ModelBucket bucket;
    bucket.task = work.task;
    bucket.step = work.step;
    bucket.group = work.group;
    if (!starts_.empty()) {
      const auto& [first, starts] = starts_[rider.stretch];
      const auto next = rider.for_next
                            ? std::upper_bound(starts.begin(), starts.end(), rider.position)
                            : std::lower_bound(starts.begin(), starts.end(), rider.position);
      const auto k = static_cast<std::uint32_t>(next - starts.begin());
      bucket.segment = first + (k > 0 ? k - 1 : 0);
      bucket.position = k > 0 ? rider.position - starts[k - 1] : 0;
    }
    stage_.buckets.push_back(bucket);
  }

  const RankModel& rank_;
  const Program& program_;
  const Passes& passes_;
  const PassLabels& labels_;
  const LayerPlan& plan_;
  const Pipeline& pipeline_;
  ModelStage& stage_;
  std::map<UnitKey, std::uint32_t> units_;
  /// Of every stretch: its first segment, and at which of its works segments begin.
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> starts_;
};

/// Gives every segment its pieces of its thread.
class PieceCutter {
 public:
  PieceCutter(const RankModel& rank, const std::vector<replaying::ThreadEdge>& thread_edges,
              ModelStage& stage)
      : rank_(rank), stage_(stage) {
    released_.resize(rank.threads.size());
    for (const replaying::ThreadEdge& edge : thread_edges) {
      if (edge.hand_over) released_[edge.to_thread].insert(edge.to_piece);
    }
    for (const ModelBucket& bucket : stage.buckets) {
      buckets_[bucket.segment].push_back(bucket.task);
    }
  }

  void run() {
    std::vector<std::vector<std::uint32_t>> of_thread(rank_.threads.size());
    for (std::uint32_t s = 0; s < stage_.segments.size(); ++s) {
      if (stage_.segments[s].thread != kNoIndex) of_thread[stage_.segments[s].thread].push_back(s);
    }
    for (std::uint32_t t = 0; t < of_thread.size(); ++t) cut(t, of_thread[t]);
  }

 private:
  const Call& call_of(std::uint32_t task) const { return rank_.calls[rank_.gpu[task].call]; }

  /// How many rows are open across the begin of each piece.
  std::vector<std::uint32_t> depths(std::uint32_t t) const {
    const HostThread& thread = rank_.threads[t];
    const Events& ev = rank_.trace->events;
    std::vector<std::uint32_t> depth(thread.pieces.size(), 0);
    std::vector<Time> open;  // ends of rows
    std::uint32_t row = 0;
    Time last = Time::min();
    for (std::size_t p = 0; p < thread.pieces.size(); ++p) {
      const Time now = thread.pieces[p].start;
      for (; row < ev.size() && ev.start[row] + rank_.host_offset < now; ++row) {
        if (ev.track[row] != thread.track) continue;
        if (ev.category[row] != Category::kCpuOp && !is_host_call(ev.category[row])) continue;
        open.push_back(ev.end(row) + rank_.host_offset);
      }
      std::erase_if(open, [now](Time end) { return end <= now; });
      depth[p] = now > last ? static_cast<std::uint32_t>(open.size()) : 0;
      last = thread.pieces[p].end;
    }
    return depth;
  }

  /// One past the last piece in which a segment launches, buckets included.
  std::uint32_t after_launches(std::uint32_t s, std::uint32_t t) const {
    std::uint32_t after = call_of(stage_.segments[s].tasks.back()).last_piece + 1;
    const auto buckets = buckets_.find(s);
    if (buckets == buckets_.end()) return after;
    for (const std::uint32_t task : buckets->second) {
      if (rank_.gpu[task].call == kNoIndex || call_of(task).thread != t) continue;
      after = std::max(after, call_of(task).last_piece + 1);
    }
    return after;
  }

  /// The first piece in which a segment launches, buckets included.
  std::uint32_t before_launches(std::uint32_t s, std::uint32_t t) const {
    std::uint32_t before = call_of(stage_.segments[s].tasks.front()).first_piece;
    const auto buckets = buckets_.find(s);
    if (buckets == buckets_.end()) return before;
    for (const std::uint32_t task : buckets->second) {
      if (rank_.gpu[task].call == kNoIndex || call_of(task).thread != t) continue;
      before = std::min(before, call_of(task).first_piece);
    }
    return before;
  }

  /// Where another thread hands over; else where the fewest rows are open, the first such place.
  std::uint32_t place_between(std::uint32_t t, const std::vector<std::uint32_t>& depth,
                              std::uint32_t from, std::uint32_t until) const {
    const auto released = released_[t].lower_bound(from);
    if (released != released_[t].end() && *released <= until) return *released;
    std::uint32_t best = from;
    for (std::uint32_t p = best + 1; p <= until; ++p) {
      if (depth[p] < depth[best]) best = p;
    }
    return best;
  }

  /// Between the last launch of a segment and the first of the next.
  void cut(std::uint32_t t, const std::vector<std::uint32_t>& segments) {
    if (segments.empty()) return;
    const std::vector<std::uint32_t> depth = depths(t);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      ModelSegment& segment = stage_.segments[segments[i]];
      segment.first_piece = begin;
      segment.last_piece = static_cast<std::uint32_t>(depth.size());
      if (i + 1 < segments.size()) {
        const std::uint32_t until = before_launches(segments[i + 1], t);
        const std::uint32_t after = std::min(after_launches(segments[i], t), until);
        segment.last_piece = std::max(begin, place_between(t, depth, after, until));
      }
      begin = segment.last_piece;
    }
  }

  const RankModel& rank_;
  ModelStage& stage_;
  std::vector<std::set<std::uint32_t>> released_;  ///< pieces that another thread releases
  std::map<std::uint32_t, std::vector<std::uint32_t>> buckets_;  ///< tasks, by segment
};

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
  SegmentMaker(recording.ranks[stage.rank], program, passes, labels, plan, pipeline, stage).run();
  PieceCutter(recording.ranks[stage.rank], recording.thread_edges[stage.rank], stage).run();
  UnitFiller(set, recording, durations, stage).run();
}

}  // namespace flopcast::whatif
