#include "whatif/structure/written/draft.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/numeric/median.h"
#include "base/numeric/mix.h"
#include "base/numeric/rounded.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::GpuTask;
using replaying::kNoIndex;

/// Shorter kernels are launch and start alone: they do not grow with their work.
constexpr Time kFixedKernel = Time::from_us(3);

std::uint64_t mix_in(std::uint64_t hash, std::uint64_t value) { return mix(hash ^ mix(value)); }

/// Streams of messages are numbered after all others.
constexpr StreamKey kMessageStreams = StreamKey{1} << 40;

/// Collectives of the new run by who meets and the how-manieth time.
class Meetings {
 public:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  /// The index of the meeting; fresh where nobody came before.
  std::pair<std::uint32_t, bool> at(const Key& key, std::size_t next) {
    const auto [it, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(next));
    return {it->second, fresh};
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return mix_in(mix_in(std::get<0>(k), std::get<1>(k)), std::get<2>(k));
    }
  };
  std::unordered_map<Key, std::uint32_t, Hash> known_;
};

/// Speeds of the machines of the new run: a recorded rank keeps its own, new ones get those of
/// recorded ranks that are no stragglers.
class Machines {
 public:
  explicit Machines(const Library& library) : library_(library) {
    std::vector<double> all = library.gpu_speed;
    const double middle = upper_median(all, 1.0);
    for (double& v : all) v = std::abs(v - middle);
    // Four deviations, and one part in a hundred: clocks of equal chips differ by less.
    const double far = 4 * upper_median(all) + 0.01;
    for (std::uint32_t r = 0; r < library.gpu_speed.size(); ++r) {
      if (std::abs(library.gpu_speed[r] - middle) <= far) usual_.push_back(r);
    }
  }
  std::uint32_t of(std::uint32_t rank) const {
    if (rank < library_.gpu_speed.size() || usual_.empty()) return rank;
    return usual_[mix(rank) % usual_.size()];
  }

 private:
  const Library& library_;
  std::vector<std::uint32_t> usual_;
};

/// Writes one rank.
class RankWriter {
 public:
  RankWriter(const replaying::Recording& recording, const Library& library, const NewPlan& plan,
             const Transfers& transfers, const Sizes& sizes, const StructureChange& change,
             Meetings& meetings, Draft& draft, std::uint32_t rank, std::uint32_t machine)
      : rec_(recording),
        library_(library),
        plan_(plan),
        transfers_(transfers),
        sizes_(sizes),
        change_(change),
        meetings_(meetings),
        draft_(draft),
        out_(draft.ranks[rank]),
        rank_(rank),
        host_speed_(library.host_speed[machine]),
        gpu_speed_(library.gpu_speed[machine]) {
    out_.model.rank = static_cast<std::int32_t>(rank);
    out_.model.index = rank;
  }

  void run(const std::vector<ProgramItem>& program, std::uint32_t steps) {
    for (step_ = 0; step_ < steps; ++step_) {
      out_.step_begins.push_back(
          out_.model.threads.empty() ? 0 : static_cast<std::uint32_t>(pieces(0).size()));
      for (const ProgramItem& item : program) write(item);
    }
  }

 private:
  std::vector<replaying::Piece>& pieces(std::uint32_t thread) {
    return out_.model.threads[thread].pieces;
  }
  const Events& events(const RowRef& row) const { return rec_.ranks[row.rank].trace->events; }

  /// One of the recorded values, the same for the same seed; their median where ranks are copies.
  Time drawn(const Samples& samples, Time otherwise = {}) {
    seed_ = mix(seed_);
    if (samples.empty()) return otherwise;
    return change_.scale_only ? samples.median() : samples.draw(seed_);
  }

  void write(const ProgramItem& item) {
    const Stretch& stretch = library_.stretches[item.stretch];
    seed_ = mix_in(mix_in(mix_in(change_.seed, rank_), step_), ++written_);
    while (out_.model.threads.size() <= item.thread) add_thread();
    item_ = &item;
    stretch_ = &stretch;
    first_row_ = static_cast<std::uint32_t>(out_.rows.size());
    first_task_ = static_cast<std::uint32_t>(out_.model.gpu.size());
    first_call_ = static_cast<std::uint32_t>(out_.model.calls.size());
    write_rows();
    write_pieces();
    write_calls();
    for (std::uint32_t c = 0; c < stretch.calls.size(); ++c) {
      for (const std::uint32_t i : stretch.calls[c].tasks) write_task(i);
      for (const StretchWait& wait : stretch.calls[c].wait) write_wait(c, wait);
    }
  }

  void add_thread() {
    replaying::HostThread thread;
    thread.track = static_cast<std::uint32_t>(out_.model.threads.size());
    out_.model.threads.push_back(std::move(thread));
    out_.piece_time.emplace_back();
    out_.piece_gap.emplace_back();
  }

  void write_rows() {
    for (const StretchRow& row : stretch_->rows) {
      DraftRow out{row.row};
      out.track = item_->thread;
      if (row.parent != kNoIndex) out.parent = first_row_ + row.parent;
      out_.rows.push_back(out);
    }
  }

  void write_pieces() {
    const std::uint32_t thread = item_->thread;
    for (std::size_t i = 0; i < stretch_->pieces.size(); ++i) {
      const StretchPiece& piece = stretch_->pieces[i];
      Time gap = times(drawn(piece.gap), host_speed_);
      if (i == 0) {
        first_piece_ = static_cast<std::uint32_t>(pieces(thread).size());
        if (last_thread_ != kNoIndex && last_thread_ != thread) gap = hand_over(thread);
      }
      out_.piece_gap[thread].push_back(gap);
      out_.piece_time[thread].push_back(times(drawn(piece.time), host_speed_));
      pieces(thread).push_back({first_row_ + piece.row, {}, {}});
    }
    if (!stretch_->pieces.empty()) last_thread_ = thread;
  }

  /// The thread starts where the one before it has ended. @return the gap that is left to it: none.
  Time hand_over(std::uint32_t thread) {
    const auto typical = library_.hand_overs.find({last_thread_, thread});
    const Time usual = typical == library_.hand_overs.end() ? Time{} : typical->second.median();
    const auto from = static_cast<std::uint32_t>(pieces(last_thread_).size() - 1);
    out_.thread_edges.push_back({last_thread_, from, thread, first_piece_, true});
    out_.thread_lags.push_back(times(drawn(stretch_->hand_over, usual), host_speed_));
    return {};
  }

  void write_calls() {
    for (const StretchCall& call : stretch_->calls) {
      Call out;
      out.row = first_row_ + call.row;
      out.thread = item_->thread;
      out.first_piece = first_piece_ + call.first_piece;
      out.last_piece = first_piece_ + call.last_piece;
      if (call.op != kNoIndex) out.op = first_row_ + call.op;
      out.kind = call.kind;
      out_.rows[out.row].correlation = ++correlation_;
      out_.model.threads[item_->thread].calls.push_back(
          static_cast<std::uint32_t>(out_.model.calls.size()));
      out_.model.calls.push_back(std::move(out));
    }
  }

  // ---- GPU --------------------------------------------------------------------------------------

  /// Index of a stream of this rank, new where it is.
  std::uint32_t stream(StreamKey key, StreamKey like) {
    const auto [it, fresh] =
        stream_of_.try_emplace(key, static_cast<std::uint32_t>(out_.model.streams.size()));
    if (fresh) {
      replaying::Stream stream;
      stream.id = static_cast<std::int32_t>(like & 0xffffffff);
      while (!used_ids_.insert(stream.id).second) ++stream.id;
      stream.device = static_cast<std::int32_t>(rank_ % 8);
      out_.model.streams.push_back(stream);
      launched_.emplace_back();
      waiting_.emplace_back();
    }
    return it->second;
  }
  StreamKey key_of(const StretchTask& task) const {
    return item_->peer != kNoPeer && task.communication ? kMessageStreams + item_->channel
                                                        : task.stream;
  }

  void write_task(std::uint32_t i) {
    const StretchTask& task = stretch_->tasks[i];
    const std::vector<std::uint32_t> group = group_of(task);
    if (task.group != 0 && group.size() == 1) return;
    const auto index = static_cast<std::uint32_t>(out_.model.gpu.size());
    GpuTask out;
    out.stream = stream(key_of(task), task.stream);
    out.order = static_cast<std::uint32_t>(launched_[out.stream].size());
    out.communication = task.communication;
    DraftRow row{task.row};
    row.stream = out_.model.streams[out.stream].id;
    out.call = first_call_ + task.call;
    Call& call = out_.model.calls[out.call];
    call.gpu.push_back(index);
    row.correlation = out_.rows[call.row].correlation;
    if (!group.empty()) {
      out.collective = meet(task, i, group, index);
      row.collective = out.collective;
    }
    out.row = static_cast<std::uint32_t>(out_.rows.size());
    out_.rows.push_back(row);
    add_waits(task, index, out.stream);
    const auto [time, changed] = time_of(task, i, group);
    out_.task_time.push_back(time);
    out_.changed.push_back(changed ? 1 : 0);
    out_.model.streams[out.stream].tasks.push_back(index);
    out_.model.gpu.push_back(out);
    launched_[out.stream].push_back(index);
  }

  std::vector<std::uint32_t> group_of(const StretchTask& task) const {
    if (item_->peer != kNoPeer && task.communication) {
      Place other = plan_.grid.place(rank_);
      other[static_cast<std::size_t>(Dimension::kPipeline)] = item_->peer;
      const std::uint32_t peer = plan_.grid.rank(other);
      return {std::min(rank_, peer), std::max(rank_, peer)};
    }
    if (task.group == 0) return {};
    return plan_.grid.group(rank_, task.group);
  }

  std::uint32_t meet(const StretchTask& task, std::uint32_t position,
                     const std::vector<std::uint32_t>& group, std::uint32_t index) {
    Meetings::Key key;
    if (item_->peer != kNoPeer) {
      key = {group.front() | std::uint64_t{group.back()} << 32, item_->message,
             (std::uint64_t{step_} << 16 | position) << 8 | 0xff};
    } else {
      key = {group.front(), met_[task.group]++, task.group};
    }
    const auto [at, fresh] = meetings_.at(key, draft_.collectives.size());
    if (fresh) {
      DraftCollective& c = draft_.collectives.emplace_back();
      c.origin = task.row;
      const Events& ev = events(task.row);
      c.name = ev.name[task.row.row];
      const std::uint32_t detail = ev.collective[task.row.row];
      if (detail != kNoDetail) {
        const CollectiveDetail& d = rec_.ranks[task.row.rank].trace->collectives[detail];
        if (d.name != 0) c.name = d.name;
        c.group = d.group_desc != 0 ? d.group_desc : d.group_name;
      }
      c.recorded_bytes = task.bytes;
      c.bytes = rounded_whole(static_cast<double>(task.bytes) * bytes_of(position));
      c.ranks = group;
      shared_seed_ = mix_in(mix_in(std::get<0>(key), std::get<1>(key)), std::get<2>(key));
    }
    DraftCollective& c = draft_.collectives[at];
    c.members.push_back({rank_, index, 0, {}});
    shared_seed_ = mix_in(mix_in(std::get<0>(key), std::get<1>(key)), std::get<2>(key));
    return at;
  }

  /// Bytes of a collective over the recorded ones.
  double bytes_of(std::uint32_t position) const {
    return item_->bytes * sizes_.bytes[item_->stretch][position];
  }

  /// The task's time, and whether it is more than a copy.
  std::pair<Time, bool> time_of(const StretchTask& task, std::uint32_t position,
                                const std::vector<std::uint32_t>& group) {
    if (!group.empty()) {
      const Time recorded = change_.scale_only ? task.time.median()
                                               : task.time.draw(mix_in(change_.seed, shared_seed_));
      const bool message = item_->peer != kNoPeer;
      const std::size_t before = message ? 2 : plan_.before.group(0, task.group).size();
      // "coalesced" names no operation; between two stages it is messages.
      const std::string_view name = message ? "send_recv" : operation(task);
      const double ratio =
          transfers_.ratio(name, task.time.median(), before, bytes_of(position), group.size());
      return {times(recorded, ratio), ratio != 1 || library_.made_bucket == item_->stretch};
    }
    const Time time = drawn(task.time);
    double work = sizes_.time[item_->stretch][position];
    if (time > kFixedKernel) work *= item_->work;
    return {times(time, gpu_speed_ * work), work != 1};
  }
  std::string_view operation(const StretchTask& task) const {
    return transfers_.operation(rec_, task.row);
  }

  void add_waits(const StretchTask& task, std::uint32_t index, std::uint32_t stream) {
    std::set<std::uint32_t> sources;
    for (const WaitIn& wait : task.in) {
      const std::uint32_t source = launched(wait);
      if (source != kNoIndex && out_.model.gpu[source].stream != stream &&
          sources.insert(source).second) {
        out_.gpu_edges.push_back({source, index, wait.kind});
      }
    }
    for (const auto& [source, kind] : waiting_[stream]) {
      if (sources.insert(source).second) out_.gpu_edges.push_back({source, index, kind});
    }
    waiting_[stream].clear();
    if (!item_->waited) return;
    for (const WaitOut& wait : task.out) {
      const auto other = stream_of_.find(wait.stream);
      if (other != stream_of_.end() && other->second != stream) {
        waiting_[other->second].emplace_back(index, wait.kind);
      }
    }
  }
  std::uint32_t launched(const WaitIn& wait) const {
    const auto stream = stream_of_.find(wait.stream);
    if (stream == stream_of_.end()) return kNoIndex;
    const auto& list = launched_[stream->second];
    return list.size() > wait.back ? list[list.size() - 1 - wait.back] : kNoIndex;
  }

  // ---- synchronisation --------------------------------------------------------------------------

  /// What is last on a stream when a call is reached is known here: the host runs in one order.
  void write_wait(std::uint32_t call, const StretchWait& wait) {
    replaying::SyncWait out;
    out.call = first_call_ + call;
    out.host_remainder = wait.host_remainder;
    out.after = times(drawn(wait.after, library_.lags.sync), host_speed_);
    const auto add = [&](std::uint32_t t) {
      if (t != kNoIndex) out.tasks.push_back(t);
    };
    for (const StreamKey key : wait.streams) add(launched({key, 0, EdgeKind::kSync}));
    for (const WaitIn& in : wait.tasks) add(launched(in));
    if (wait.own_tasks) {
      for (const std::uint32_t t : out_.model.calls[out.call].gpu) add(t);
    }
    std::sort(out.tasks.begin(), out.tasks.end());
    out.tasks.erase(std::unique(out.tasks.begin(), out.tasks.end()), out.tasks.end());
    if (!out.tasks.empty()) out_.waits.push_back(std::move(out));
  }

  const replaying::Recording& rec_;
  const Library& library_;
  const NewPlan& plan_;
  const Transfers& transfers_;
  const Sizes& sizes_;
  const StructureChange& change_;
  Meetings& meetings_;
  Draft& draft_;
  RankDraft& out_;
  std::uint32_t rank_;
  double host_speed_, gpu_speed_;
  const ProgramItem* item_ = nullptr;
  const Stretch* stretch_ = nullptr;
  std::uint32_t step_ = 0, first_row_ = 0, first_piece_ = 0, first_task_ = 0, first_call_ = 0;
  std::uint32_t last_thread_ = kNoIndex;
  std::uint64_t seed_ = 0, shared_seed_ = 0, written_ = 0;
  std::int64_t correlation_ = 0;
  std::map<StreamKey, std::uint32_t> stream_of_;
  std::set<std::int32_t> used_ids_;
  std::vector<std::vector<std::uint32_t>> launched_;  // [stream]
  /// [stream]: tasks that the next one on it waits for
  std::vector<std::vector<std::pair<std::uint32_t, EdgeKind>>> waiting_;
  std::map<DimensionSet, std::uint64_t> met_;
};

}  // namespace

Draft make_draft(const replaying::Recording& recording, const Library& library, const NewPlan& plan,
                 const std::vector<std::vector<ProgramItem>>& programs, const Transfers& transfers,
                 const Sizes& sizes, const StructureChange& change, std::uint32_t steps) {
  Draft draft;
  Meetings meetings;
  const Machines machines(library);
  draft.ranks.resize(plan.grid.size());
  for (std::uint32_t rank = 0; rank < plan.grid.size(); ++rank) {
    Place place = plan.grid.place(rank);
    const std::uint32_t stage = place[static_cast<std::size_t>(Dimension::kPipeline)];
    std::uint32_t machine = machines.of(rank);
    if (change.scale_only) {
      for (int d = 0; d < kDimensions; ++d) {
        place[static_cast<std::size_t>(d)] %= plan.before.degree(static_cast<Dimension>(d));
      }
      machine = plan.before.rank(place);
    }
    RankWriter writer(recording, library, plan, transfers, sizes, change, meetings, draft, rank,
                      machine);
    writer.run(programs[stage], steps);
  }
  return draft;
}

}  // namespace flopcast::whatif::structure
