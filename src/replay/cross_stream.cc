#include "flopcast/replay/cross_stream.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

namespace flopcast::replaying {
namespace {

class Finder {
 public:
  Finder(const TraceSet& set, const RankModel& rank, Time launch_latency)
      : set_(set),
        rank_(rank),
        ev_(rank.trace->events),
        latency_(launch_latency),
        slack_(order_slack(*rank.trace)) {
    by_edge_.assign(rank.gpu.size(), Time::min());
    index_launches();
    index_collectives();
    index_sync_rows();
    for (const Step& step : find_steps(set, *rank.trace))
      step_starts_.push_back(step.start + rank.host_offset);
  }

  CrossStream run() {
    // Waits in host order over all threads: which collectives are still unwaited for is a rank's
    // state.
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      if (rank_.calls[c].kind == CallKind::kWaitEvent) handle(c);
    }
    order_graphs();
    explain_late_starts();
    auto& edges = result_.edges;
    std::sort(edges.begin(), edges.end(), [](const GpuEdge& a, const GpuEdge& b) {
      return std::tie(a.target, a.source, a.kind) < std::tie(b.target, b.source, b.kind);
    });
    edges.erase(std::unique(edges.begin(), edges.end(),
                            [](const GpuEdge& a, const GpuEdge& b) {
                              return a.target == b.target && a.source == b.source;
                            }),
                edges.end());
    return std::move(result_);
  }

 private:
  struct Pending {
    std::uint32_t task;
    Time launched;
    bool waited;
    std::uint64_t signature;
  };

  /// A thread's calls reduced to what matters here: launches, records and waits, in order.
  struct Place {
    std::uint32_t thread = 0;
    std::uint32_t at = 0;  // position in Thread::calls
  };

  const Call& call(std::uint32_t c) const { return rank_.calls[c]; }
  const GpuTask& gpu(std::uint32_t t) const { return rank_.gpu[t]; }
  const std::vector<std::uint32_t>& calls_of(std::uint32_t thread) const {
    return rank_.threads[thread].calls;
  }
  bool launches(std::uint32_t c) const { return !call(c).gpu.empty(); }
  bool launches_communication(std::uint32_t c) const {
    return launches(c) && gpu(call(c).gpu.front()).communication;
  }

  void index_launches() {
    place_.resize(rank_.calls.size());
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t) {
      for (std::uint32_t i = 0; i < calls_of(t).size(); ++i) place_[calls_of(t)[i]] = {t, i};
    }
    launched_on_.resize(rank_.streams.size());
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      for (const std::uint32_t t : call(c).gpu)
        launched_on_[gpu(t).stream].push_back({call(c).start, t});
    }
  }

  void index_collectives() {
    for (std::uint32_t c = 0; c < rank_.calls.size(); ++c) {
      for (const std::uint32_t t : call(c).gpu) {
        if (!gpu(t).communication) continue;
        pending_of_[t] = pending_.size();
        pending_.push_back({t, call(c).start, false, signature(t)});
        launched_like_[pending_.back().signature].push_back(call(c).start);
        if (const CollectiveDetail* d = detail(t); d && d->sequence != kNoId) {
          by_number_[{d->group_name, d->sequence}] = t;
        }
      }
    }
  }

  void index_sync_rows() {
    for (std::uint32_t r = 0; r < ev_.size(); ++r) {
      if (ev_.category[r] == Category::kSync && ev_.correlation[r] > 0)
        sync_row_[ev_.correlation[r]] = r;
    }
    if (sync_row_.empty()) return;  // most recordings: nothing names a record then
    for (std::uint32_t r = 0; r < ev_.size(); ++r) {
      if (is_host_call(ev_.category[r]) && ev_.correlation[r] > 0)
        call_row_[ev_.correlation[r]] = r;
    }
  }

  const CollectiveDetail* detail(std::uint32_t task) const {
    const GpuTask& t = gpu(task);
    std::uint32_t i = ev_.collective[t.row];
    if (i == kNoDetail && t.call != kNoIndex && call(t.call).op != kNoIndex)
      i = ev_.collective[call(t.call).op];
    return i == kNoDetail ? nullptr : &rank_.trace->collectives[i];
  }

  // ---- what stands around a wait --------------------------------------------------------------

  /// The nearest launching call before / after a call on its thread; kNoIndex if there is none.
  std::uint32_t previous_launch(std::uint32_t c) const {
    const auto& calls = calls_of(place_[c].thread);
    for (std::uint32_t i = place_[c].at; i-- > 0;) {
      if (launches(calls[i])) return calls[i];
    }
    return kNoIndex;
  }
  std::uint32_t next_launch(std::uint32_t c) const {
    const auto& calls = calls_of(place_[c].thread);
    for (std::uint32_t i = place_[c].at + 1; i < calls.size(); ++i) {
      if (launches(calls[i])) return calls[i];
    }
    return kNoIndex;
  }
  /// The record directly before a wait: no launch and no other wait between.
  std::uint32_t record_before(std::uint32_t c) const {
    const auto& calls = calls_of(place_[c].thread);
    for (std::uint32_t i = place_[c].at; i-- > 0;) {
      if (call(calls[i]).kind == CallKind::kRecord) return calls[i];
      if (launches(calls[i]) || call(calls[i]).kind == CallKind::kWaitEvent) return kNoIndex;
    }
    return kNoIndex;
  }
  /// Whether the call is the first wait after the launch `launch` on its thread.
  bool first_wait_after(std::uint32_t launch, std::uint32_t wait) const {
    const auto& calls = calls_of(place_[wait].thread);
    for (std::uint32_t i = place_[launch].at + 1; i < place_[wait].at; ++i) {
      if (call(calls[i]).kind == CallKind::kWaitEvent) return false;
    }
    return true;
  }

  /// The last task a thread launched before a call, optionally not on `except`, not communication.
  std::uint32_t last_work(std::uint32_t c, std::uint32_t except, bool compute_only) const {
    const auto& calls = calls_of(place_[c].thread);
    constexpr std::uint32_t kLook =
        400;  // launches further back are behind this thread's stream anyway
    const std::uint32_t at = place_[c].at;
    for (std::uint32_t i = at; i-- > (at > kLook ? at - kLook : 0);) {
      if (!launches(calls[i])) continue;
      const std::uint32_t t = call(calls[i]).gpu.back();
      if (gpu(t).stream != except && !(compute_only && gpu(t).communication)) return t;
    }
    return kNoIndex;
  }

  /// The last task put on a stream before a time.
  std::uint32_t last_on(std::uint32_t stream, Time before) const {
    const auto& list = launched_on_[stream];
    const auto it = std::lower_bound(list.begin(), list.end(), before,
                                     [](const auto& l, Time t) { return l.first < t; });
    return it == list.begin() ? kNoIndex : std::prev(it)->second;
  }

  /// A wait holds its stream's next task, whichever thread puts it there: autograd's, after a
  /// receive of the main thread; the optimizer's, after a wait at the end of a backward.
  /// @param own the task this thread puts there next: where the recording contradicts the other.
  std::uint32_t held_by(std::uint32_t wait, std::uint32_t source, std::uint32_t own) const {
    const auto& list = launched_on_[gpu(own).stream];
    const auto it = std::lower_bound(list.begin(), list.end(), call(wait).start,
                                     [](const auto& launch, Time t) { return launch.first < t; });
    return it != list.end() && holds(source, it->second) ? it->second : own;
  }
  /// A record stands for all that is on its stream, whichever thread put it there.
  /// @param own the last work of this thread.
  std::uint32_t recorded_by(std::uint32_t record, std::uint32_t own, std::uint32_t target) const {
    const std::uint32_t last = last_on(gpu(own).stream, call(record).start);
    return last != kNoIndex && !gpu(last).communication && holds(last, target) ? last : own;
  }

  // ---- edges ----------------------------------------------------------------------------------

  bool holds(std::uint32_t source, std::uint32_t target) const {
    return gpu(source).end <= gpu(target).start + slack_;
  }

  /// Keeps the edge if the recording allows it; a source on the target's own stream adds nothing.
  bool keep(std::uint32_t source, std::uint32_t target, EdgeKind kind) {
    if (source == kNoIndex || target == kNoIndex || source == target) return false;
    if (gpu(source).stream == gpu(target).stream) {
      ++result_.same_stream;
      return true;
    }
    if (!holds(source, target)) {
      (kind == EdgeKind::kEvent ? result_.event : result_.inferred).add(describe(source, target));
      return false;
    }
    result_.edges.push_back({source, target, kind});
    by_edge_[target] = std::max(by_edge_[target], gpu(source).end);
    return true;
  }

  std::string describe(std::uint32_t source, std::uint32_t target) const {
    return fmt::format(
        "rank {}: {} on stream {} ends {:.1f} us after {} on stream {} starts at {:.6f} s",
        rank_.rank, set_.strings[ev_.name[gpu(source).row]].substr(0, 60),
        rank_.streams[gpu(source).stream].id, (gpu(source).end - gpu(target).start).us(),
        set_.strings[ev_.name[gpu(target).row]].substr(0, 60), rank_.streams[gpu(target).stream].id,
        gpu(target).start.seconds());
  }

  void handle(std::uint32_t wait) {
    if (by_sync_row(wait)) return;
    const std::uint32_t before = previous_launch(wait);
    const std::uint32_t after = next_launch(wait);
    const bool inside_launch =
        after != kNoIndex && launches_communication(after) && same_operation(wait, after);
    if (!inside_launch && before != kNoIndex && launches_communication(before) &&
        first_wait_after(before, wait) && call(before).op == call(wait).op) {
      ++result_.nccl_own;
      return;
    }
    if (after == kNoIndex) return;  // orders nothing inside the recording
    const std::uint32_t target = call(after).gpu.front();
    if (inside_launch) {
      to_collective(wait, target);
    } else if (!by_sequence(wait, target) && !by_record(wait, target)) {
      lone(wait, target);
    }
  }

  /// Whether a wait belongs to the launch of a collective: no call but event calls between, or
  /// inside the same operator.
  bool same_operation(std::uint32_t wait, std::uint32_t launch) const {
    if (call(wait).op != kNoIndex && call(wait).op == call(launch).op) return true;
    if (call(wait).op != kNoIndex && call(launch).op != kNoIndex) {
      // c10d::allreduce_ holds record_param_comms, which holds the launch.
      const std::uint32_t outer = call(wait).op;
      return ev_.start[outer] <= ev_.start[call(launch).row] &&
             ev_.end(call(launch).row) <= ev_.end(outer);
    }
    return call(launch).start - call(wait).end < Time::from_us(200);
  }

  bool by_sync_row(std::uint32_t wait) {
    const auto row = sync_row_.find(ev_.correlation[call(wait).row]);
    if (row == sync_row_.end() || ev_.detail[row->second] == kNoDetail) return false;
    const SyncDetail& detail = rank_.trace->syncs[ev_.detail[row->second]];
    if (detail.kind != SyncDetail::Kind::kStreamWaitEvent) return false;
    const auto record = call_row_.find(detail.record_correlation);
    if (record == call_row_.end()) return false;
    const Time recorded = ev_.start[record->second] + rank_.host_offset;
    const std::uint32_t source = last_on_id(detail.wait_on_stream, recorded);
    const std::uint32_t target = next_on_id(ev_.stream[row->second], call(wait).start);
    if (source == kNoIndex || target == kNoIndex)
      return true;  // known, and orders nothing recorded
    keep(source, target, EdgeKind::kEvent);
    return true;
  }

  std::uint32_t last_on_id(std::int32_t stream, Time before) const {
    std::uint32_t best = kNoIndex;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      if (rank_.streams[s].id != stream) continue;
      const std::uint32_t t = last_on(s, before);
      if (t != kNoIndex && (best == kNoIndex || gpu(t).start > gpu(best).start)) best = t;
    }
    return best;
  }
  std::uint32_t next_on_id(std::int32_t stream, Time after) const {
    std::uint32_t best = kNoIndex;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      if (rank_.streams[s].id != stream) continue;
      const auto& list = launched_on_[s];
      const auto it = std::lower_bound(list.begin(), list.end(), after,
                                       [](const auto& l, Time t) { return l.first < t; });
      if (it != list.end() && (best == kNoIndex || gpu(it->second).start < gpu(best).start))
        best = it->second;
    }
    return best;
  }

  void to_collective(std::uint32_t wait, std::uint32_t target) {
    const std::uint32_t record = record_before(wait);
    const std::uint32_t at = record == kNoIndex ? wait : record;
    const std::uint32_t own = last_work(at, gpu(target).stream, true);
    if (own == kNoIndex) return;
    keep(recorded_by(at, own, target), target,
         record == kNoIndex ? EdgeKind::kEventInferred : EdgeKind::kEvent);
  }

  bool by_sequence(std::uint32_t wait, std::uint32_t target) {
    if (call(wait).op == kNoIndex) return false;
    const std::uint32_t i = ev_.collective[call(wait).op];
    if (i == kNoDetail) return false;
    const CollectiveDetail& d = rank_.trace->collectives[i];
    if (!d.is_wait || d.sequence == kNoId) return false;
    const auto found = by_number_.find({d.group_name, d.sequence});
    if (found == by_number_.end()) return false;
    mark_waited(found->second);
    keep(found->second, held_by(wait, found->second, target), EdgeKind::kEvent);
    return true;
  }

  bool by_record(std::uint32_t wait, std::uint32_t target) {
    const std::uint32_t record = record_before(wait);
    if (record == kNoIndex) return false;
    const std::uint32_t launch = previous_launch(record);
    // After a collective's launch the record is of its own end event; which one is waited for is
    // open.
    if (launch == kNoIndex || launches_communication(launch)) return false;
    const std::uint32_t source = call(launch).gpu.back();
    if (gpu(source).stream == gpu(target).stream) {
      ++result_.same_stream;
      return true;
    }
    if (!holds(source, target)) {  // a record of something else: look further
      result_.event.add(describe(source, target));
      return false;
    }
    mark_waited(source);
    return keep(source, held_by(wait, source, target), EdgeKind::kEvent);
  }

  void lone(std::uint32_t wait, std::uint32_t target) {
    std::uint32_t source = waits_for_collective(wait) ? collective_for(wait, target)
                                                      : last_work(wait, gpu(target).stream, true);
    if (source != kNoIndex && !holds(source, target)) source = kNoIndex;
    if (is_late(target) && (source == kNoIndex || gpu(source).end < gpu(target).start - kLate)) {
      // The rule does not tell why the target is late: what ended just before it does.
      const std::uint32_t other = ended_just_before(target, call(wait).start);
      if (other != kNoIndex) source = other;
    }
    if (source == kNoIndex) {
      ++result_.unresolved;
      return;
    }
    mark_waited(source);
    keep(source, held_by(wait, source, target), EdgeKind::kEventInferred);
  }

  /// Collectives of a group are waited for in the order they were launched; a functional
  /// collective's wait_tensor follows its launch.
  std::uint32_t collective_for(std::uint32_t wait, std::uint32_t target) {
    const std::uint32_t before = previous_launch(wait);
    if (before == kNoIndex || !launches_communication(before))
      return oldest_pending(wait, target, kNoIndex);
    const std::uint32_t newest = call(before).gpu.back();
    if (inside_wait_tensor(wait)) return newest;
    return oldest_pending(wait, target, gpu(newest).stream);
  }

  bool inside_wait_tensor(std::uint32_t wait) const {
    const std::uint32_t op = call(wait).op;
    return op != kNoIndex &&
           set_.strings[ev_.name[op]].find("wait_tensor") != std::string_view::npos;
  }

  /// Inside an operator of the process group, or in none that computes: work.wait() called from
  /// Python, which torch.compile may have wrapped.
  bool waits_for_collective(std::uint32_t wait) const {
    if (call(wait).op == kNoIndex) return true;
    const std::string_view name = set_.strings[ev_.name[call(wait).op]];
    return name == "record_param_comms" || name.find("c10d") != std::string_view::npos ||
           name.find("wait") != std::string_view::npos ||
           name.find("nccl") != std::string_view::npos ||
           name.starts_with("Torch-Compiled Region") ||
           name.find("CompiledFunction") != std::string_view::npos;
  }

  /// The first collective launched that nobody waited for. Inside an operator of the process group
  /// a thread waits for its own before another's; outside (the end of a backward pass) for another
  /// thread's first.
  /// @param stream only collectives on this stream; kNoIndex: any but the target's own.
  std::uint32_t oldest_pending(std::uint32_t wait, std::uint32_t target, std::uint32_t stream) {
    while (first_pending_ < pending_.size() && pending_[first_pending_].waited) ++first_pending_;
    std::uint32_t other_choice = kNoIndex;
    for (std::size_t i = first_pending_; i < pending_.size(); ++i) {
      const Pending& p = pending_[i];
      if (p.launched >= call(wait).start) break;
      const std::uint32_t on = gpu(p.task).stream;
      if (p.waited || on == gpu(target).stream || (stream != kNoIndex && on != stream)) continue;
      if (!holds(p.task, target) || repeated_since(p, call(wait).start)) continue;
      const bool own = call(gpu(p.task).call).thread == call(wait).thread;
      if (own == (call(wait).op != kNoIndex)) return p.task;
      if (other_choice == kNoIndex) other_choice = p.task;
    }
    return other_choice;
  }
  /// Launched in an earlier step, and the same collective has been launched again in this one: its
  /// wait was missed, or was another kind of wait.
  bool repeated_since(const Pending& p, Time now) const {
    const auto step = std::upper_bound(step_starts_.begin(), step_starts_.end(), now);
    if (step == step_starts_.begin() || p.launched >= *std::prev(step)) return false;
    const auto again = launched_like_.find(p.signature);
    const auto at = std::lower_bound(again->second.begin(), again->second.end(), *std::prev(step));
    return at != again->second.end() && *at < now;
  }
  /// Kernel and size: what tells one collective of a step from another.
  std::uint64_t signature(std::uint32_t task) const {
    const CollectiveDetail* d = detail(task);
    const std::uint32_t k = ev_.detail[gpu(task).row];
    const std::uint64_t size = d ? static_cast<std::uint64_t>(d->in_elements) * 31 +
                                       static_cast<std::uint64_t>(d->out_elements)
                                 : (k == kNoDetail ? 0 : rank_.trace->kernels[k].blocks);
    return size * 1000003 + ev_.name[gpu(task).row];
  }

  void mark_waited(std::uint32_t task) {
    const auto it = pending_of_.find(task);
    if (it != pending_of_.end()) pending_[it->second].waited = true;
  }

  // ---- late starts ----------------------------------------------------------------------------

  /// When a task could have started by its launch, its stream and its edges so far.
  Time explained(std::uint32_t task) const {
    const GpuTask& t = gpu(task);
    Time at = Time::min();
    if (t.call != kNoIndex) {
      at = launches_at_end(rank_, t) ? call(t.call).end : call(t.call).start + latency_;
    }
    if (t.order > 0) at = std::max(at, gpu(rank_.streams[t.stream].tasks[t.order - 1]).end);
    return std::max(at, by_edge_[task]);
  }
  bool is_late(std::uint32_t task) const {
    const Time at = explained(task);
    return at != Time::min() && gpu(task).start - at > kLate;
  }

  /// The task on another stream, launched before `put`, that ended last before `target` started, if
  /// that was less than kLate before.
  std::uint32_t ended_just_before(std::uint32_t target, Time put) const {
    std::uint32_t best = kNoIndex;
    for (std::uint32_t s = 0; s < rank_.streams.size(); ++s) {
      if (s == gpu(target).stream) continue;
      const auto& tasks = rank_.streams[s].tasks;
      auto it = std::lower_bound(tasks.begin(), tasks.end(), gpu(target).start + slack_,
                                 [&](std::uint32_t t, Time time) { return gpu(t).end <= time; });
      if (it == tasks.begin()) continue;
      const std::uint32_t t = *--it;
      const bool put_before = gpu(t).call == kNoIndex || call(gpu(t).call).start < put;
      if (put_before && gpu(t).end > gpu(target).start - kLate && holds(t, target) &&
          (best == kNoIndex || gpu(t).end > gpu(best).end)) {
        best = t;
      }
    }
    return best;
  }

  /// The streams inside a graph are lost and their events with them: order across streams is by
  /// time.
  void order_graphs() {
    for (const Call& launch : rank_.calls) {
      if (launch.gpu.size() < 2) continue;
      std::vector<std::uint32_t> by_end(launch.gpu.begin(), launch.gpu.end());
      std::sort(by_end.begin(), by_end.end(),
                [&](std::uint32_t a, std::uint32_t b) { return gpu(a).end < gpu(b).end; });
      std::size_t ended = 0;
      std::uint32_t last = kNoIndex,
                    last_other = kNoIndex;  // latest to end, and latest on another stream than it
      for (const std::uint32_t t : launch.gpu) {
        while (ended < by_end.size() && gpu(by_end[ended]).end <= gpu(t).start + slack_) {
          const std::uint32_t e = by_end[ended++];
          if (last != kNoIndex && gpu(last).stream != gpu(e).stream) last_other = last;
          last = e;
        }
        const std::uint32_t source =
            last != kNoIndex && gpu(last).stream == gpu(t).stream ? last_other : last;
        if (source != kNoIndex && source != t && gpu(source).end > by_stream(t))
          keep(source, t, EdgeKind::kGraph);
      }
    }
  }
  Time by_stream(std::uint32_t t) const {
    return gpu(t).order == 0 ? Time::min()
                             : gpu(rank_.streams[gpu(t).stream].tasks[gpu(t).order - 1]).end;
  }

  /// Late tasks without any wait call behind it: the kernel that filled the SMs meanwhile.
  void explain_late_starts() {
    std::vector<std::uint32_t> near;  // kernels that started before, and had not ended long before
    std::uint32_t next = 0;
    const std::vector<SyncDetail>& syncs = rank_.trace->syncs;
    const bool told = std::any_of(syncs.begin(), syncs.end(), [](const SyncDetail& sync) {
      return sync.kind == SyncDetail::Kind::kStreamWaitEvent;
    });
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      if (!is_late(t)) continue;
      for (; gpu(next).start < gpu(t).start; ++next) {
        if (ev_.category[gpu(next).row] == Category::kKernel) near.push_back(next);
      }
      std::erase_if(near, [&](std::uint32_t b) { return gpu(b).end < gpu(t).start - kLate; });
      const std::uint32_t source = occupant(t, near);
      if (source == kNoIndex) continue;
      // Communication kernels leave most SMs to others: what waits for their end wants their result.
      // Where the recording tells which event each wait is for, it would have told this one.
      const bool wants = !told && gpu(source).communication && holds(source, t);
      result_.edges.push_back({source, t, wants ? EdgeKind::kEventInferred : EdgeKind::kOccupancy});
    }
  }

  /// The kernel on another stream that ran when `t` could have started, and whose end is nearest to
  /// t's start; its tail may overlap. Of equals the first stream's, and there the last.
  std::uint32_t occupant(std::uint32_t t, const std::vector<std::uint32_t>& near) const {
    std::uint32_t best = kNoIndex;
    std::tuple<Time, std::uint32_t, std::uint32_t> best_off{Time::max(), 0, 0};
    for (const std::uint32_t b : near) {
      if (gpu(b).stream == gpu(t).stream) continue;
      const Time tail = gpu(b).end - gpu(t).start;
      const Time off = tail < Time{} ? -tail : tail;
      // Communication kernels take few SMs: they fill nothing, but may have shared the last ones.
      const bool fills =
          !gpu(b).communication && tail.ps <= (gpu(b).end - gpu(b).start).ps / kTailShare;
      if (!fills && off > kLate) continue;
      const std::tuple here{off, gpu(b).stream, ~gpu(b).order};
      if (here < best_off) {
        best = b;
        best_off = here;
      }
    }
    return best;
  }
  static constexpr std::int64_t kTailShare = 3;  // a tail overlaps at most this part of its kernel

  struct NumberHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::int64_t>& k) const {
      return std::hash<std::int64_t>()(k.second * 1000003 + k.first);
    }
  };

  const TraceSet& set_;
  const RankModel& rank_;
  const Events& ev_;
  Time latency_;
  Time slack_;
  CrossStream result_;
  std::vector<Place> place_;  // per call
  std::vector<std::vector<std::pair<Time, std::uint32_t>>>
      launched_on_;                                            // per stream: (call start, task)
  std::vector<Time> by_edge_;                                  // per task: latest source end
  std::vector<Pending> pending_;                               // collectives by launch
  std::unordered_map<std::uint32_t, std::size_t> pending_of_;  // task to its place there
  std::unordered_map<std::uint64_t, std::vector<Time>> launched_like_;  // by signature: launches
  std::vector<Time> step_starts_;
  std::size_t first_pending_ = 0;  // all before are waited for
  std::unordered_map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t, NumberHash> by_number_;
  std::unordered_map<std::int64_t, std::uint32_t> sync_row_, call_row_;  // by correlation
};

}  // namespace

CrossStream find_cross_stream(const TraceSet& set, const RankModel& rank, Time launch_latency) {
  return Finder(set, rank, launch_latency).run();
}

}  // namespace flopcast::replaying
