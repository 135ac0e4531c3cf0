#include "flopcast/replay/assembly.h"

#include <algorithm>
#include <map>

namespace flopcast::replaying {
namespace {

/// The least a blocking call takes when there is nothing to wait for.
constexpr Time kLeastSync = Time::from_us(5);
/// The first task of a stream that is later than this waited for something that was not recorded.
constexpr Time kLateFirst = Time::from_us(1000);

class Assembler {
 public:
  Assembler(const Recording& recording, const Durations& durations, const Lags& lags,
            const std::vector<std::vector<Binding>>& bindings, Baseline baseline)
      : rec_(recording), dur_(durations), lags_(lags), bindings_(bindings), baseline_(baseline) {
    std::size_t tasks = 0;
    for (const RankModel& rank : rec_.ranks) {
      tasks += rank.gpu.size() + rank.calls.size();
      for (const HostThread& thread : rank.threads) tasks += thread.pieces.size();
    }
    builder_.reserve(tasks, 2 * tasks);
    out_.map.task_rank.reserve(tasks);
    out_.map.task_row.reserve(tasks);
    out_.release.reserve(tasks);
    out_.map.ranks.resize(rec_.ranks.size());
  }

  Assembly run() {
    for (r_ = 0; r_ < rec_.ranks.size(); ++r_) {
      index_rank();
      if (host()) add_host();
      add_streams();
    }
    add_hubs();
    for (r_ = 0; r_ < rec_.ranks.size(); ++r_) {
      index_rank();
      if (host()) {
        add_thread_edges();
        add_launch_edges();
        add_waits();
      }
      add_event_edges();
      add_holds();
      list_pins();
    }
    for (const auto& [what, pin] : pins_) out_.pinned.push_back({what, pin.tasks, pin.late});
    out_.graph = std::move(builder_).build();
    add_rooms();
    release_orphans();
    return std::move(out_);
  }

 private:
  bool host() const { return baseline_ != Baseline::kDpro; }
  const RankModel& rank() const { return rec_.ranks[r_]; }
  const Events& events() const { return rank().trace->events; }
  const Durations::Rank& durations() const { return dur_.ranks[r_]; }
  const Lags::Rank& lags() const { return lags_.ranks[r_]; }
  TaskMap::Rank& map() { return out_.map.ranks[r_]; }
  bool recorded_lags() const { return lags_.mode == LagMode::kRecorded; }
  /// Whether kernels wait for room as they run, instead of for those they waited for.
  bool with_rooms() const {
    return recorded_lags() && baseline_ == Baseline::kNone && !rec_.rooms.empty();
  }
  /// What bound a GPU task; with rooms, what did besides occupancy.
  const Binding& binding(std::uint32_t t) const {
    const Binding& b = bindings_[r_][t];
    if (b.kind != EdgeKind::kOccupancy || !with_rooms()) return b;
    return rec_.rooms[r_][t].late ? rec_.beside_occupancy[r_][t] : kNotBound;
  }
  static constexpr Binding kNotBound{EdgeKind::kOccupancy, kNoIndex, false, Time{}, true};

  void index_rank() {
    wait_of_call_.assign(rank().calls.size(), kNoIndex);
    const auto& waits = rec_.sync_waits[r_].waits;
    for (std::uint32_t w = 0; w < waits.size(); ++w) wait_of_call_[waits[w].call] = w;
    call_of_piece_.assign(rank().threads.size(), {});
    for (std::uint32_t t = 0; t < rank().threads.size(); ++t) {
      call_of_piece_[t].assign(rank().threads[t].pieces.size(), kNoIndex);
    }
    for (std::uint32_t c = 0; c < rank().calls.size(); ++c) {
      const Call& call = rank().calls[c];
      call_of_piece_[call.thread][call.first_piece] = c;
    }
    edge_target_.assign(rank().threads.size(), {});
    for (const ThreadEdge& e : rec_.thread_edges[r_]) {
      if (e.hand_over) edge_target_[e.to_thread].push_back(e.to_piece);
    }
    for (auto& pieces : edge_target_) std::sort(pieces.begin(), pieces.end());
  }

  TaskId task(TaskKind kind, std::uint32_t row, std::uint32_t name, Time duration, Time gap) {
    out_.map.task_rank.push_back(r_);
    out_.map.task_row.push_back(row);
    out_.release.push_back(Time::min());
    return builder_.add_task(kind, name, duration, gap);
  }

  // ---- host -----------------------------------------------------------------------------------

  void add_host() {
    map().piece_first.resize(rank().threads.size());
    map().piece_last.resize(rank().threads.size());
    for (std::uint32_t t = 0; t < rank().threads.size(); ++t) {
      builder_.add_processor(Processor::Kind::kThread, rank().rank, rank().threads[t].track);
      const std::size_t pieces = rank().threads[t].pieces.size();
      map().piece_first[t].resize(pieces);
      map().piece_last[t].resize(pieces);
      for (std::uint32_t p = 0; p < pieces; ++p) add_piece(t, p);
    }
  }

  void add_piece(std::uint32_t t, std::uint32_t p) {
    const Piece& piece = rank().threads[t].pieces[p];
    const std::uint32_t name = events().name[piece.row];
    // A piece that another thread's point releases has waited, not worked, before it.
    const bool released = std::binary_search(edge_target_[t].begin(), edge_target_[t].end(), p);
    const Time gap = released ? Time{} : durations().gap[t][p];
    const Time duration = durations().piece[t][p];
    const std::uint32_t c = call_of_piece_[t][p];
    TaskId first;
    TaskId last;
    if (c != kNoIndex && wait_of_call_[c] != kNoIndex) {
      const SyncWait& wait = rec_.sync_waits[r_].waits[wait_of_call_[c]];
      const Time least = wait.blocked ? std::min(duration, kLeastSync) : duration;
      if (rank().calls[c].gpu.empty()) {
        first = last = task(TaskKind::kSync, piece.row, name, least, gap);
      } else {  // a blocking copy first puts its work on the stream, then waits for it
        first = task(TaskKind::kLaunch, piece.row, name, Time{}, gap);
        last = task(TaskKind::kSync, piece.row, name, least, Time{});
      }
    } else {
      TaskKind kind = TaskKind::kOperator;
      if (is_host_call(events().category[piece.row])) {
        kind =
            c != kNoIndex && !rank().calls[c].gpu.empty() ? TaskKind::kLaunch : TaskKind::kHostCall;
      }
      first = last = task(kind, piece.row, name, duration, gap);
    }
    map().piece_first[t][p] = first;
    map().piece_last[t][p] = last;
    if (p == 0 && !released) out_.release[first] = piece.start;
  }

  void add_thread_edges() {
    for (const ThreadEdge& e : rec_.thread_edges[r_]) {
      const Piece& from = rank().threads[e.from_thread].pieces[e.from_piece];
      const Piece& to = rank().threads[e.to_thread].pieces[e.to_piece];
      const Time lag = e.hand_over ? std::max(Time{}, to.start - from.end) : Time{};
      builder_.add_edge({map().piece_last[e.from_thread][e.from_piece],
                         map().piece_first[e.to_thread][e.to_piece], lag, EdgeKind::kThread,
                         false});
    }
  }

  void add_launch_edges() {
    for (std::uint32_t t = 0; t < rank().gpu.size(); ++t) {
      const GpuTask& gpu = rank().gpu[t];
      if (gpu.call == kNoIndex) {
        // Put on its stream at an unknown moment: a sync waits for it only once it has started.
        if (!gpu.before_window) set_launcher(t, map().gpu_first[t]);
        continue;
      }
      const Call& call = rank().calls[gpu.call];
      const TaskId first = map().piece_first[call.thread][call.first_piece];
      set_launcher(t, first);
      if (follows_in_launch(t) || starts_before_launch(rank(), gpu)) continue;
      const Binding& b = binding(t);
      const bool blocking_copy = wait_of_call_[gpu.call] != kNoIndex;
      const bool from_end = launches_at_end(rank(), gpu) && !blocking_copy;
      const Time slack = gpu.start - (from_end ? call.end : call.start);
      Time lag = from_end ? lags().launch_from_end : lags().launch_from_start;
      if (recorded_lags() || keeps_delay(t)) {
        lag = recorded_lag(b.kind == EdgeKind::kLaunch, lag, slack);
      } else if (!from_end && slack < std::min(lag, rec_.launch_latency[r_])) {
        // Kernels that the recording has start before their call even after alignment keep their
        // place.
        lag = std::max(slack, Time{});
      }
      // Inside a blocking copy the host first stages the data: its own time, kept like all host
      // time.
      if (blocking_copy && b.kind == EdgeKind::kLaunch) lag = slack;
      const TaskId source = from_end ? map().piece_last[call.thread][call.last_piece] : first;
      builder_.add_edge({source, map().gpu_first[t], lag, EdgeKind::kLaunch, !from_end});
    }
  }

  void set_launcher(std::uint32_t t, TaskId launcher) {
    builder_.set_launcher(map().gpu_first[t], launcher);
    if (map().gpu_last[t] != map().gpu_first[t]) builder_.set_launcher(map().gpu_last[t], launcher);
  }

  /// Later rows of one launch (a graph) are held by the rows before them.
  bool follows_in_launch(std::uint32_t t) const {
    const GpuTask& gpu = rank().gpu[t];
    if (gpu.order == 0 || baseline_ == Baseline::kSingleStream) return false;
    const std::uint32_t before = rank().streams[gpu.stream].tasks[gpu.order - 1];
    return rank().gpu[before].call == gpu.call;
  }

  void add_waits() {
    const auto& waits = rec_.sync_waits[r_].waits;
    for (std::uint32_t w = 0; w < waits.size(); ++w) {
      const SyncWait& wait = waits[w];
      const Call& call = rank().calls[wait.call];
      std::vector<std::uint32_t> sources;
      for (const std::uint32_t s : wait.streams) {
        if (stream_processor_[r_][s] != kNoIndex) sources.push_back(stream_processor_[r_][s]);
      }
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      for (const std::uint32_t t : wait.tasks) sources.push_back(map().gpu_last[t] | kFixedSource);
      Time lag = lags().sync;
      const Time recorded = durations().after_sync[w];
      const bool returns_early = !wait.tasks.empty() && wait.after < Time{};
      if (wait.blocked && (wait.host_remainder || recorded_lags() || returns_early)) {
        lag = recorded;
      } else if (wait.host_remainder) {
        lag = Time{};
      } else if (recorded_lags()) {
        lag = std::min(lag, recorded);
      }
      builder_.add_wait(map().piece_last[call.thread][call.first_piece], sources, lag);
    }
    for (const QueuePlace& q : rec_.sync_waits[r_].queue) {
      builder_.add_edge({map().gpu_last[q.task], map().piece_first[q.thread][q.piece], Time{},
                         EdgeKind::kSync, false});
    }
  }

  // ---- GPU ------------------------------------------------------------------------------------

  void add_streams() {
    map().gpu_first.resize(rank().gpu.size());
    map().gpu_last.resize(rank().gpu.size());
    stream_processor_.emplace_back(rank().streams.size(), kNoIndex);
    if (baseline_ == Baseline::kNone || baseline_ == Baseline::kNoInterStream) {
      for (std::uint32_t s = 0; s < rank().streams.size(); ++s) {
        stream_processor_[r_][s] =
            builder_.add_processor(Processor::Kind::kStream, rank().rank, rank().streams[s].id);
        for (const std::uint32_t t : rank().streams[s].tasks) add_gpu(t, stream_gap(t));
      }
      return;
    }
    // The papers' baselines: one queue of computation, one of communication.
    for (const bool communication : {false, true}) {
      const std::uint32_t queue =
          builder_.add_processor(Processor::Kind::kStream, rank().rank, communication ? 1 : 0);
      for (std::uint32_t t = 0; t < rank().gpu.size(); ++t) {
        if (rank().gpu[t].communication == communication) add_gpu(t, lags().overall[kStreamKind]);
      }
      for (std::uint32_t s = 0; s < rank().streams.size(); ++s) {
        const auto& tasks = rank().streams[s].tasks;
        if (!tasks.empty() && rank().gpu[tasks.front()].communication == communication) {
          stream_processor_[r_][s] = queue;
        }
      }
    }
  }

  void add_gpu(std::uint32_t t, Time gap) {
    const GpuTask& gpu = rank().gpu[t];
    const std::uint32_t name = events().name[gpu.row];
    if (gpu.collective != kNoIndex) {
      map().gpu_first[t] = task(TaskKind::kArrival, gpu.row, name, Time{}, gap);
      map().gpu_last[t] = task(TaskKind::kTransfer, gpu.row, name, durations().transfer[t], Time{});
      return;
    }
    TaskKind kind =
        events().category[gpu.row] == Category::kKernel ? TaskKind::kCompute : TaskKind::kCopy;
    if (gpu.communication) kind = TaskKind::kTransfer;
    map().gpu_first[t] = map().gpu_last[t] = task(kind, gpu.row, name, durations().gpu[t], gap);
  }

  /// The lag after the task before on the same stream.
  Time stream_gap(std::uint32_t t) {
    const GpuTask& gpu = rank().gpu[t];
    if (gpu.order == 0) return Time{};
    const std::uint32_t before = rank().streams[gpu.stream].tasks[gpu.order - 1];
    const Time recorded = gpu.start - rank().gpu[before].end;
    if (recorded < Time{}) {
      ++pins_
            ["GPU tasks that start before their stream predecessor ends (programmatic dependent "
             "launch)"]
                .tasks;
      return recorded;
    }
    const Binding& b = binding(t);
    const bool same_launch = gpu.call != kNoIndex && rank().gpu[before].call == gpu.call;
    const Time lag = lag_between(same_launch ? EdgeKind::kGraph : EdgeKind::kStream, before, t);
    if (!recorded_lags() && !keeps_delay(t)) return lag;
    return recorded_lag(b.source == before, lag, recorded);
  }

  void add_event_edges() {
    if (baseline_ == Baseline::kNoInterStream) return;
    for (const GpuEdge& e : rec_.cross_stream[r_].edges) {
      const GpuTask& target = rank().gpu[e.target];
      if (baseline_ == Baseline::kDpro && !target.communication) continue;
      const bool same_queue = rank().gpu[e.source].communication == target.communication;
      if (baseline_ != Baseline::kNone && same_queue) continue;
      if (e.kind == EdgeKind::kOccupancy && with_rooms()) continue;
      const Binding& b = binding(e.target);
      const bool binds = b.source == e.source && b.kind == e.kind;
      // An occupant is left during its last wave: the edge counts from its start.
      const bool from_start = e.kind == EdgeKind::kOccupancy;
      Time lag;
      if (from_start) {
        lag = occupied(e, binds);
      } else {
        lag = lag_between(e.kind, e.source, e.target);
        if (e.added) {
          lag = std::max(lag, Time{});
        } else if (recorded_lags() || keeps_delay(e.target)) {
          lag = recorded_lag(binds, lag, target.start - rank().gpu[e.source].end);
        }
      }
      builder_.add_edge(
          {map().gpu_last[e.source], map().gpu_first[e.target], lag, e.kind, from_start});
    }
  }
  /// How long after its start an occupant lets another kernel in; of a collective, after all ranks
  /// have arrived: how long it waits for them says nothing.
  Time occupied(const GpuEdge& e, bool binds) const {
    const GpuTask& source = rank().gpu[e.source];
    const Time whole = durations().transfer[e.source];
    const Time typical = lags_.occupied(launch_shape(rank(), source), whole);
    if (!recorded_lags() && !keeps_delay(e.target)) return typical;
    const Time recorded_whole = recorded_transfer(rec_, r_, e.source);
    const Time slack = rank().gpu[e.target].start - (source.end - recorded_whole);
    // A part of the occupant's time, however long it takes now.
    return recorded_lag(binds, typical, scaled(slack, whole, recorded_whole));
  }

  /// With its own delay what bound a task is as late as it was. What did not would have been after
  /// its kind's usual delay, and was no later than the task.
  static Time recorded_lag(bool binds, Time typical, Time slack) {
    return binds ? slack : std::min(typical, slack);
  }
  static constexpr int kStreamKind = static_cast<int>(EdgeKind::kStream);
  Time lag_between(EdgeKind kind, std::uint32_t source, std::uint32_t target) const {
    return lags().after(kind, gpu_class(rank(), rank().gpu[source]),
                        gpu_class(rank(), rank().gpu[target]));
  }

  /// One room a GPU.
  void add_rooms() {
    if (!with_rooms()) return;
    Graph& g = out_.graph;
    g.room.assign(g.task_count(), kNoRoom);
    g.fills.assign(g.task_count(), Time{});
    std::uint32_t rooms = 0;
    for (r_ = 0; r_ < rec_.ranks.size(); ++r_) {
      std::map<std::int32_t, std::uint32_t> of_device;
      std::vector<std::uint32_t> of_stream;
      for (const Stream& stream : rank().streams) {
        const auto [room, fresh] = of_device.try_emplace(stream.device, rooms);
        if (fresh) ++rooms;
        of_stream.push_back(room->second);
      }
      for (std::uint32_t t = 0; t < rank().gpu.size(); ++t) {
        const Room& room = rec_.rooms[r_][t];
        if (room.need == Room::Need::kNone) continue;
        const TaskId id = map().gpu_first[t];
        g.room[id] = of_stream[rank().gpu[t].stream];
        g.fills[id] = scaled(room.fills, durations().transfer[t], room.whole);
      }
    }
  }
  /// `part` of `whole` when it takes `now`.
  static Time scaled(Time part, Time now, Time whole) {
    if (now == whole || whole <= Time{}) return part;
    return Time{
        static_cast<std::int64_t>(static_cast<double>(part.ps) * static_cast<double>(now.ps) /
                                  static_cast<double>(whole.ps))};
  }

  void add_hubs() {
    builder_.add_processor(Processor::Kind::kHub, -1, 0);
    for (const Collective& c : rec_.collectives) {
      std::map<std::uint32_t, TaskId> hubs;  // by number of contributors
      for (const CollectiveMember& m : c.members) {
        if (m.contributors < 2 && c.members.size() > 1) {
          add_rendezvous_edge(first(m), last(m));
          continue;
        }
        auto [hub, fresh] = hubs.try_emplace(m.contributors, 0);
        if (fresh) {
          r_ = m.rank;
          hub->second = task(TaskKind::kRendezvous, kNoDetail, c.name, Time{}, Time{});
          for (std::uint32_t i = 0; i < m.contributors; ++i)
            add_rendezvous_edge(first(c.members[i]), hub->second);
        }
        add_rendezvous_edge(hub->second, last(m));
      }
    }
  }
  TaskId first(const CollectiveMember& m) const { return out_.map.ranks[m.rank].gpu_first[m.task]; }
  TaskId last(const CollectiveMember& m) const { return out_.map.ranks[m.rank].gpu_last[m.task]; }
  void add_rendezvous_edge(TaskId from, TaskId to) {
    builder_.add_edge({from, to, Time{}, EdgeKind::kRendezvous, false});
  }

  // ---- pins -----------------------------------------------------------------------------------

  /// Whether a GPU task keeps its recorded delay after what bound it in every mode, because the
  /// trace does not tell the whole of what it waited for: a launch before the window, or something
  /// before the first task of a stream.
  bool keeps_delay(std::uint32_t t) const {
    const GpuTask& gpu = rank().gpu[t];
    const Binding& b = bindings_[r_][t];
    if (!b.any) return false;
    const Time late = gpu.start - b.base;
    if (gpu.call == kNoIndex) return late > kLate || (gpu.before_window && !rank().calls.empty());
    return gpu.order == 0 && late > kLateFirst;
  }

  /// Counts what keeps its recorded delay.
  void list_pins() {
    out_.is_pinned.emplace_back(rank().gpu.size(), false);
    for (std::uint32_t t = 0; t < rank().gpu.size(); ++t) {
      const GpuTask& gpu = rank().gpu[t];
      const Binding& b = bindings_[r_][t];
      if (!b.any) {
        pin(t, "GPU tasks with neither launch nor predecessor in the trace", Time{});
      } else if (keeps_delay(t)) {
        pin(t,
            gpu.call == kNoIndex ? "GPU tasks launched before the window"
                                 : "first GPU task of a stream, more than 1 ms after its launch",
            gpu.start - b.base);
      }
    }
  }
  void pin(std::uint32_t t, const char* why, Time late) {
    out_.is_pinned[r_][t] = true;
    Pin& entry = pins_[why];
    ++entry.tasks;
    entry.late += late;
  }

  /// What nothing in the trace holds keeps its recorded delay after something else of its rank.
  void add_holds() {
    if (rec_.holds.empty() || !host()) return;
    for (const Hold& h : rec_.holds[r_]) {
      if (h.target.on_gpu() ? bindings_[r_][h.target.index].any : is_released(h.target)) continue;
      const TaskId target = h.target.on_gpu() ? map().gpu_first[h.target.index]
                                              : map().piece_first[h.target.thread][h.target.index];
      const TaskId source = h.source.on_gpu() ? map().gpu_last[h.source.index]
                                              : map().piece_last[h.source.thread][h.source.index];
      const EdgeKind kind = h.target.on_gpu() ? EdgeKind::kLaunch : EdgeKind::kThread;
      builder_.add_edge({source, target, h.lag, kind, false});
      out_.release[target] = Time::min();
    }
  }
  bool is_released(const Hold::Place& piece) const {
    return std::binary_search(edge_target_[piece.thread].begin(), edge_target_[piece.thread].end(),
                              piece.index);
  }

  /// A task without any predecessor, of a rank or by a baseline, starts when it was recorded to.
  void release_orphans() {
    for (r_ = 0; r_ < rec_.ranks.size(); ++r_) {
      for (std::uint32_t t = 0; t < rank().gpu.size(); ++t) {
        const TaskId id = map().gpu_first[t];
        if (out_.graph.pending[id] == 0) out_.release[id] = rank().gpu[t].start;
      }
    }
  }

  const Recording& rec_;
  const Durations& dur_;
  const Lags& lags_;
  const std::vector<std::vector<Binding>>& bindings_;
  Baseline baseline_;
  GraphBuilder builder_;
  Assembly out_;
  std::uint32_t r_ = 0;
  std::vector<std::uint32_t> wait_of_call_;
  std::vector<std::vector<std::uint32_t>> call_of_piece_;
  std::vector<std::vector<std::uint32_t>>
      edge_target_;  // per thread: pieces another thread releases
  std::vector<std::vector<std::uint32_t>> stream_processor_;  // [rank][stream]
  std::map<std::string, Pin> pins_;
};

}  // namespace

Assembly assemble(const Recording& recording, const Durations& durations, const Lags& lags,
                  const std::vector<std::vector<Binding>>& bindings, Baseline baseline) {
  return Assembler(recording, durations, lags, bindings, baseline).run();
}

}  // namespace flopcast::replaying
