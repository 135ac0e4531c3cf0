#include "whatif/structure/library.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/numeric/median.h"
#include "base/numeric/mix.h"
#include "whatif/structure/cuts.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::GpuEdge;
using replaying::GpuTask;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::SyncWait;

/// Shorter tasks tell little of a rank's speed: clock steps.
constexpr Time kTellsGpuSpeed = Time::from_us(2);
constexpr Time kTellsHostSpeed = Time::from_ns(500);
/// The least a blocking call takes when there is nothing to wait for, as in the replay.
constexpr Time kLeastBlocked = Time::from_us(5);

/// No kernel takes more than this without doing anything.
constexpr Time kMostFloor = Time::from_us(2);

/// Fewer launches on idle streams tell nothing.
constexpr std::size_t kEnoughLaunches = 5;

std::uint64_t join(std::uint64_t hash, std::uint64_t value) { return mix(hash ^ mix(value)); }

MessageWay message_way(std::string_view operation) {
  const bool send = operation.find("send") != std::string_view::npos;
  const bool receive = operation.find("recv") != std::string_view::npos;
  if (send == receive) return MessageWay::kBoth;
  return send ? MessageWay::kSend : MessageWay::kReceive;
}

/// What is known of one rank's tasks by position.
struct RankPlaces {
  std::vector<std::uint32_t> cut_of;                 // [task]: index into cuts, kNoIndex: none
  std::vector<std::uint32_t> position;               // [task]: in its cut
  std::vector<std::uint32_t> wait_of;                // [call]: index into SyncWaits::waits
  std::vector<std::uint32_t> call_of;                // scratch
  std::vector<std::vector<std::uint32_t>> launched;  // [stream]: tasks in order of launch
  std::vector<std::uint32_t> launch_index;           // [task]: in its stream's order of launch
  std::vector<std::vector<const GpuEdge*>> edges;    // [task]: of which it is the target
  std::vector<std::vector<Time>> hand_over;          // [thread][piece]: lag; Time::min() where none
  std::vector<std::vector<std::uint32_t>> hand_over_from;  // [thread][piece]: thread
};

class LibraryMaker {
 public:
  LibraryMaker(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model,
               const RankGrid& grid)
      : set_(set), rec_(recording), model_(model), grid_(grid) {}

  Library run() {
    for (const ModelStage& stage : model_.stages) {
      for (Cut& cut : cut_rank(rec_, stage)) cuts_.push_back(std::move(cut));
    }
    find_groups();
    index_ranks();
    group_copies();
    measure_speeds();
    for (std::uint32_t s = 0; s < copies_.size(); ++s) fill(s);
    add_programs();
    add_lags();
    add_frame();
    settle();
    find_floor();
    return std::move(out_);
  }

 private:
  const RankModel& rank(const Cut& cut) const { return rec_.ranks[cut.rank]; }
  const Events& events(std::uint32_t r) const { return rec_.ranks[r].trace->events; }

  void find_groups() {
    for (const replaying::Collective& c : rec_.collectives) {
      std::vector<std::uint32_t> ranks;
      for (const auto& m : c.members) {
        ranks.push_back(static_cast<std::uint32_t>(rec_.ranks[m.rank].rank));
      }
      groups_.push_back(grid_.differences(ranks));
    }
  }

  void index_ranks() {
    places_.resize(rec_.ranks.size());
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) index_rank(r);
    for (std::uint32_t c = 0; c < cuts_.size(); ++c) {
      RankPlaces& places = places_[cuts_[c].rank];
      for (std::uint32_t i = 0; i < cuts_[c].tasks.size(); ++i) {
        places.cut_of[cuts_[c].tasks[i]] = c;
        places.position[cuts_[c].tasks[i]] = i;
      }
    }
    slots_.resize(rec_.ranks.size());
    for (const Cut& cut : cuts_) slot(cut.rank, cut.thread);
    for (const RankModel& rank : rec_.ranks) parents_.push_back(parent_rows(*rank.trace));
  }

  void index_rank(std::uint32_t r) {
    const RankModel& rank = rec_.ranks[r];
    RankPlaces& p = places_[r];
    p.cut_of.assign(rank.gpu.size(), kNoIndex);
    p.position.assign(rank.gpu.size(), 0);
    p.launch_index.assign(rank.gpu.size(), 0);
    p.edges.resize(rank.gpu.size());
    p.wait_of.assign(rank.calls.size(), kNoIndex);
    for (std::uint32_t w = 0; w < rec_.sync_waits[r].waits.size(); ++w) {
      p.wait_of[rec_.sync_waits[r].waits[w].call] = w;
    }
    p.launched.resize(rank.streams.size());
    for (const Call& call : rank.calls) {
      for (const std::uint32_t t : call.gpu) {
        p.launch_index[t] = static_cast<std::uint32_t>(p.launched[rank.gpu[t].stream].size());
        p.launched[rank.gpu[t].stream].push_back(t);
      }
    }
    for (const GpuEdge& e : rec_.cross_stream[r].edges) {
      if (e.kind != EdgeKind::kOccupancy) p.edges[e.target].push_back(&e);
    }
    for (const auto& thread : rank.threads) {
      p.hand_over.emplace_back(thread.pieces.size(), Time::min());
      p.hand_over_from.emplace_back(thread.pieces.size(), 0);
    }
    for (const replaying::ThreadEdge& e : rec_.thread_edges[r]) {
      if (!e.hand_over) continue;
      const Time lag = rank.threads[e.to_thread].pieces[e.to_piece].start -
                       rank.threads[e.from_thread].pieces[e.from_piece].end;
      p.hand_over[e.to_thread][e.to_piece] = std::max(lag, Time{});
      p.hand_over_from[e.to_thread][e.to_piece] = e.from_thread;
    }
  }

  /// Threads of a rank in the order in which they first launch.
  std::uint32_t slot(std::uint32_t r, std::uint32_t thread) {
    if (thread == kNoIndex) return 0;
    std::vector<std::uint32_t>& slots = slots_[r];
    const auto known = std::find(slots.begin(), slots.end(), thread);
    if (known != slots.end()) return static_cast<std::uint32_t>(known - slots.begin());
    slots.push_back(thread);
    return static_cast<std::uint32_t>(slots.size() - 1);
  }

  // ---- copies -----------------------------------------------------------------------------------

  StretchKey key(const Cut& cut) const {
    const ModelStage& stage = model_.stages[stage_of(cut.rank)];
    const ModelUnit& unit = stage.units[stage.segments[cut.segment].unit];
    StretchKey key{unit.pass, unit.part, cut.bucket != kNoIndex, unit.recomputes, 0};
    for (const std::uint32_t t : cut.tasks) {
      const GpuTask& task = rank(cut).gpu[t];
      key.kernels = join(key.kernels, events(cut.rank).name[task.row]);
      key.kernels = join(key.kernels, operation(cut.rank, task));
      key.kernels = join(key.kernels, group_of(task));
      // Each pair of stages has a stream of its own: which says nothing of the message.
      if (unit.part == UnitPart::kExchange) continue;
      key.kernels =
          join(key.kernels, static_cast<std::uint64_t>(stream_key(rank(cut).streams[task.stream])));
    }
    return key;
  }
  /// Of a collective, as recorded: string id.
  std::uint32_t operation(std::uint32_t r, const GpuTask& task) const {
    const std::uint32_t i = events(r).collective[task.row];
    return i == kNoDetail ? 0 : rec_.ranks[r].trace->collectives[i].name;
  }
  std::uint32_t stage_of(std::uint32_t r) const {
    for (std::uint32_t s = 0; s < model_.stages.size(); ++s) {
      if (model_.stages[s].rank == r) return s;
    }
    return 0;
  }
  DimensionSet group_of(const GpuTask& task) const {
    return task.collective == kNoIndex ? DimensionSet{0} : groups_[task.collective];
  }

  void group_copies() {
    std::map<StretchKey, std::uint32_t> known;
    for (std::uint32_t c = 0; c < cuts_.size(); ++c) {
      const auto [it, fresh] =
          known.try_emplace(key(cuts_[c]), static_cast<std::uint32_t>(copies_.size()));
      if (fresh) {
        copies_.emplace_back();
        out_.stretches.emplace_back().key = it->first;
      }
      copies_[it->second].push_back(c);
      stretch_of_.push_back(it->second);
    }
    host_copies_.resize(copies_.size());
    for (std::uint32_t s = 0; s < copies_.size(); ++s) choose_host_copies(s);
  }

  /// Copies whose host did the same: those of the most frequent sequence of pieces, of several the
  /// first. They lend the host's work; all copies lend the GPU's.
  void choose_host_copies(std::uint32_t s) {
    std::map<std::uint64_t, std::vector<std::uint32_t>> like;
    for (const std::uint32_t c : copies_[s]) like[host_signature(cuts_[c])].push_back(c);
    for (const auto& [signature, list] : like) {
      std::vector<std::uint32_t>& best = host_copies_[s];
      if (list.size() > best.size() ||
          (list.size() == best.size() && !best.empty() && list.front() < best.front())) {
        best = list;
      }
    }
  }

  std::uint64_t host_signature(const Cut& cut) const {
    std::uint64_t hash = 0;
    if (cut.thread == kNoIndex) return hash;
    const auto& pieces = rank(cut).threads[cut.thread].pieces;
    std::unordered_map<std::uint32_t, std::uint32_t> rows;
    for (const std::uint32_t p : cut.pieces) {
      const std::uint32_t row = pieces[p].row;
      const auto number = rows.try_emplace(row, static_cast<std::uint32_t>(rows.size()));
      hash = join(hash, events(cut.rank).name[row]);
      hash = join(hash, number.first->second);
    }
    return hash;
  }

  // ---- speeds of ranks --------------------------------------------------------------------------

  /// A rank's times over those of its equals, by the median over all positions.
  void measure_speeds() {
    std::vector<std::vector<double>> gpu(rec_.ranks.size());
    std::vector<std::vector<double>> host(rec_.ranks.size());
    for (std::uint32_t s = 0; s < copies_.size(); ++s) {
      if (out_.stretches[s].key.bucket) continue;
      const Cut& first = cuts_[copies_[s].front()];
      for (std::size_t i = 0; i < first.tasks.size(); ++i) {
        compare(copies_[s], kTellsGpuSpeed, gpu, [&](const Cut& cut) {
          const GpuTask& task = rank(cut).gpu[cut.tasks[i]];
          return task.communication ? Time{} : task.end - task.start;
        });
      }
      const Cut& lent = cuts_[host_copies_[s].front()];
      for (std::size_t i = 0; i < lent.pieces.size(); ++i) {
        compare(host_copies_[s], kTellsHostSpeed, host, [&](const Cut& cut) {
          if (waits(cut, cut.pieces[i])) return Time{};
          const auto& piece = rank(cut).threads[cut.thread].pieces[cut.pieces[i]];
          return piece.end - piece.start;
        });
      }
    }
    for (std::size_t r = 0; r < rec_.ranks.size(); ++r) {
      out_.gpu_speed.push_back(upper_median(gpu[r], 1.0));
      out_.host_speed.push_back(upper_median(host[r], 1.0));
    }
  }

  template <typename TimeOf>
  void compare(const std::vector<std::uint32_t>& copies, Time least,
               std::vector<std::vector<double>>& ratios, TimeOf&& time_of) const {
    std::map<std::uint32_t, std::vector<Time>> by_rank;
    std::vector<Time> all;
    for (const std::uint32_t c : copies) {
      const Time time = time_of(cuts_[c]);
      if (time < least) return;
      by_rank[cuts_[c].rank].push_back(time);
    }
    if (by_rank.size() < 2) return;
    for (auto& [r, times] : by_rank) all.push_back(upper_median(times));
    const double usual = static_cast<double>(upper_median(all).ps);
    for (auto& [r, times] : by_rank) {
      ratios[r].push_back(static_cast<double>(upper_median(times).ps) / usual);
    }
  }

  std::uint32_t call_at(std::uint32_t r, std::uint32_t thread, std::uint32_t piece) const {
    const RankModel& rank = rec_.ranks[r];
    const auto& calls = rank.threads[thread].calls;
    const auto after = std::upper_bound(
        calls.begin(), calls.end(), piece,
        [&](std::uint32_t p, std::uint32_t c) { return p < rank.calls[c].first_piece; });
    if (after == calls.begin()) return kNoIndex;
    const std::uint32_t c = *std::prev(after);
    return rank.calls[c].last_piece >= piece ? c : kNoIndex;
  }
  bool waits(const Cut& cut, std::uint32_t piece) const {
    const std::uint32_t c = call_at(cut.rank, cut.thread, piece);
    return c != kNoIndex && places_[cut.rank].wait_of[c] != kNoIndex;
  }

  // ---- one stretch ------------------------------------------------------------------------------

  void fill(std::uint32_t s) {
    Stretch& stretch = out_.stretches[s];
    stretch.copies = static_cast<std::uint32_t>(copies_[s].size());
    const Cut& model = cuts_[host_copies_[s].front()];
    stretch.thread = slot(model.rank, model.thread);
    for (const std::uint32_t t : model.tasks) {
      stretch.way = message_way(set_.strings[operation(model.rank, rank(model).gpu[t])]);
    }
    shape_host(stretch, model);
    for (const std::uint32_t c : host_copies_[s]) sample_host(stretch, cuts_[c]);
    shape_tasks(stretch, model);
    for (const std::uint32_t c : copies_[s]) sample_tasks(stretch, cuts_[c]);
    find_waits(stretch, copies_[s]);
  }

  void shape_host(Stretch& stretch, const Cut& cut) {
    if (cut.thread == kNoIndex) return;
    const RankModel& rank = this->rank(cut);
    std::map<std::uint32_t, std::uint32_t> row_slot;
    const auto slot_of = [&](std::uint32_t row) {
      const auto [it, fresh] =
          row_slot.try_emplace(row, static_cast<std::uint32_t>(stretch.rows.size()));
      if (fresh) stretch.rows.push_back({{cut.rank, row}, kNoIndex});
      return it->second;
    };
    std::map<std::uint32_t, std::uint32_t> place;  // of pieces
    for (const std::uint32_t p : cut.pieces) {
      place[p] = static_cast<std::uint32_t>(stretch.pieces.size());
      stretch.pieces.push_back({slot_of(rank.threads[cut.thread].pieces[p].row), {}, {}});
    }
    for (const std::uint32_t c : rank.threads[cut.thread].calls) {
      const Call& call = rank.calls[c];
      if (!place.contains(call.first_piece) || !place.contains(call.last_piece)) continue;
      StretchCall& out = stretch.calls.emplace_back();
      out.row = slot_of(call.row);
      if (call.op != kNoIndex) out.op = slot_of(call.op);
      out.first_piece = place[call.first_piece];
      out.last_piece = place[call.last_piece];
      out.kind = call.kind;
      const std::uint32_t w = places_[cut.rank].wait_of[c];
      if (w != kNoIndex) shape_wait(out, cut, rec_.sync_waits[cut.rank].waits[w]);
    }
    for (StretchRow& out : stretch.rows) {
      std::uint32_t around = parents_[cut.rank][out.row.row];
      while (around != kNoIndex && !row_slot.contains(around)) {
        around = parents_[cut.rank][around];
      }
      if (around != kNoIndex) out.parent = row_slot[around];
    }
  }

  void shape_wait(StretchCall& call, const Cut& cut, const SyncWait& wait) {
    StretchWait& out = call.wait.emplace_back();
    const RankModel& rank = this->rank(cut);
    std::set<StreamKey> streams;
    for (const std::uint32_t s : wait.streams) streams.insert(stream_key(rank.streams[s]));
    out.streams.assign(streams.begin(), streams.end());
    out.host_remainder = wait.host_remainder;
    for (const std::uint32_t t : wait.tasks) {
      if (rank.gpu[t].call == wait.call) {
        out.own_tasks = true;
      } else if (rank.gpu[t].call != kNoIndex) {
        out.tasks.push_back({stream_key(rank.streams[rank.gpu[t].stream]),
                             back(cut.rank, t, rank.calls[wait.call].start), EdgeKind::kSync});
      }
    }
  }

  /// How many tasks were launched on a task's stream after it and before a moment.
  std::uint32_t back(std::uint32_t r, std::uint32_t task, Time moment) const {
    const RankModel& rank = rec_.ranks[r];
    const auto& list = places_[r].launched[rank.gpu[task].stream];
    const auto end = std::lower_bound(
        list.begin(), list.end(), moment,
        [&](std::uint32_t t, Time time) { return rank.calls[rank.gpu[t].call].start < time; });
    const auto before = static_cast<std::uint32_t>(end - list.begin());
    const std::uint32_t at = places_[r].launch_index[task] + 1;
    return before > at ? before - at : 0;
  }

  void sample_host(Stretch& stretch, const Cut& cut) {
    if (cut.thread == kNoIndex) return;
    const auto& pieces = rank(cut).threads[cut.thread].pieces;
    const RankPlaces& places = places_[cut.rank];
    const double speed = 1 / out_.host_speed[cut.rank];
    for (std::size_t i = 0; i < cut.pieces.size(); ++i) {
      const std::uint32_t p = cut.pieces[i];
      StretchPiece& out = stretch.pieces[i];
      Time time = pieces[p].end - pieces[p].start;
      const Time lag = places.hand_over[cut.thread][p];
      if (lag != Time::min()) {
        const auto from = slot(cut.rank, places.hand_over_from[cut.thread][p]);
        if (i == 0) stretch.hand_over.add(times(lag, speed));
        out_.hand_overs[{from, slot(cut.rank, cut.thread)}].add(times(lag, speed));
      } else if (p > 0) {
        out.gap.add(times(pieces[p].start - pieces[p - 1].end, speed));
      }
      const std::uint32_t c = call_at(cut.rank, cut.thread, p);
      const std::uint32_t w = c == kNoIndex ? kNoIndex : places.wait_of[c];
      if (w != kNoIndex && rec_.sync_waits[cut.rank].waits[w].blocked) {
        time = std::min(time, kLeastBlocked);
      }
      out.time.add(times(time, speed));
    }
    sample_waits(stretch, cut);
  }

  void sample_waits(Stretch& stretch, const Cut& cut) {
    for (StretchCall& call : stretch.calls) {
      if (call.wait.empty()) continue;
      const std::uint32_t c = call_at(cut.rank, cut.thread, cut.pieces[call.first_piece]);
      const std::uint32_t w = c == kNoIndex ? kNoIndex : places_[cut.rank].wait_of[c];
      if (w == kNoIndex) continue;
      const SyncWait& wait = rec_.sync_waits[cut.rank].waits[w];
      if (wait.blocked) call.wait.front().after.add(wait.after);
    }
  }

  void shape_tasks(Stretch& stretch, const Cut& cut) {
    const RankModel& rank = this->rank(cut);
    for (std::uint32_t i = 0; i < cut.tasks.size(); ++i) {
      const GpuTask& task = rank.gpu[cut.tasks[i]];
      StretchTask& out = stretch.tasks.emplace_back();
      out.row = {cut.rank, task.row};
      out.stream = stream_key(rank.streams[task.stream]);
      out.communication = task.communication;
      out.group = group_of(task);
      if (task.collective != kNoIndex) out.bytes = rec_.collectives[task.collective].bytes;
      if (task.call == kNoIndex || cut.thread == kNoIndex) continue;
      const Call& call = rank.calls[task.call];
      const auto piece = std::find(cut.pieces.begin(), cut.pieces.end(), call.first_piece);
      const auto at = static_cast<std::uint32_t>(piece - cut.pieces.begin());
      for (std::uint32_t c = 0; c < stretch.calls.size(); ++c) {
        if (stretch.calls[c].first_piece != at) continue;
        out.call = c;
        stretch.calls[c].tasks.push_back(i);
      }
    }
  }

  void sample_tasks(Stretch& stretch, const Cut& cut) {
    const RankModel& rank = this->rank(cut);
    for (std::size_t i = 0; i < cut.tasks.size(); ++i) {
      const GpuTask& task = rank.gpu[cut.tasks[i]];
      Samples& time = stretch.tasks[i].time;
      if (task.collective != kNoIndex) {
        time.add(transfer(cut.rank, cut.tasks[i]));
      } else {
        time.add(times(task.end - task.start, 1 / out_.gpu_speed[cut.rank]));
      }
    }
  }
  Time transfer(std::uint32_t r, std::uint32_t t) const {
    const GpuTask& task = rec_.ranks[r].gpu[t];
    for (const auto& m : rec_.collectives[task.collective].members) {
      if (m.rank == r && m.task == t) return task.end - m.latest_arrival;
    }
    return task.end - task.start;
  }

  // ---- what tasks wait for ----------------------------------------------------------------------

  bool brings_waits(const Cut& cut) const {
    const StretchKey& key = out_.stretches[stretch_of_[index_of(cut)]].key;
    return key.bucket || key.part == UnitPart::kExchange || key.part == UnitPart::kRest;
  }
  std::size_t index_of(const Cut& cut) const {
    return static_cast<std::size_t>(&cut - cuts_.data());
  }

  /// A wait is kept if half of the copies have one for the same stream; of several the latest.
  void find_waits(Stretch& stretch, const std::vector<std::uint32_t>& copies) {
    for (std::uint32_t i = 0; i < stretch.tasks.size(); ++i) {
      std::map<StreamKey, std::vector<std::pair<std::uint32_t, EdgeKind>>> found;
      for (const std::uint32_t c : copies) {
        for (const auto& [stream, wait] : waits_in(cuts_[c], cuts_[c].tasks[i])) {
          found[stream].push_back(wait);
        }
      }
      for (auto& [stream, list] : found) {
        if (2 * list.size() < copies.size()) continue;
        const auto usual = upper_median(list);
        stretch.tasks[i].in.push_back({stream, usual.first, usual.second});
      }
    }
    std::map<std::pair<std::uint32_t, StreamKey>, std::pair<std::size_t, EdgeKind>> out;
    for (const std::uint32_t c : copies) count_waits_out(cuts_[c], out);
    for (const auto& [at, found] : out) {
      if (2 * found.first >= copies.size()) {
        stretch.tasks[at.first].out.push_back({at.second, found.second});
      }
    }
  }

  /// By stream: the latest task that this one waits for, and brings the wait for itself.
  std::map<StreamKey, std::pair<std::uint32_t, EdgeKind>> waits_in(const Cut& cut,
                                                                   std::uint32_t target) const {
    std::map<StreamKey, std::pair<std::uint32_t, EdgeKind>> waits;
    const RankModel& rank = this->rank(cut);
    const RankPlaces& places = places_[cut.rank];
    const std::uint32_t launch = rank.gpu[target].call;
    if (launch == kNoIndex) return waits;
    for (const GpuEdge* e : places.edges[target]) {
      if (rank.gpu[e->source].call == kNoIndex || brought_by_source(cut, e->source)) continue;
      // A collective's launch records the stream of the computation as it is: all that was put
      // there, by whatever thread.
      const bool all = rank.gpu[target].communication && !rank.gpu[e->source].communication;
      const std::pair wait{all ? 0 : back(cut.rank, e->source, rank.calls[launch].start), e->kind};
      const StreamKey stream = stream_key(rank.streams[rank.gpu[e->source].stream]);
      const auto [it, fresh] = waits.try_emplace(stream, wait);
      if (!fresh) it->second = std::min(it->second, wait);
    }
    return waits;
  }
  bool brought_by_source(const Cut& target, std::uint32_t source) const {
    const std::uint32_t from = places_[target.rank].cut_of[source];
    return !brings_waits(target) && from != kNoIndex && brings_waits(cuts_[from]);
  }

  void count_waits_out(
      const Cut& cut,
      std::map<std::pair<std::uint32_t, StreamKey>, std::pair<std::size_t, EdgeKind>>& out) {
    const RankPlaces& places = places_[cut.rank];
    if (!brings_waits(cut)) return;
    if (targets_.empty()) index_targets();
    for (std::uint32_t i = 0; i < cut.tasks.size(); ++i) {
      std::set<StreamKey> seen;
      for (const GpuEdge* e : targets_[cut.rank][cut.tasks[i]]) {
        const std::uint32_t to = places.cut_of[e->target];
        if (to == kNoIndex || brings_waits(cuts_[to])) continue;
        const StreamKey stream = stream_key(rank(cut).streams[rank(cut).gpu[e->target].stream]);
        if (!seen.insert(stream).second) continue;
        auto& count = out[{i, stream}];
        ++count.first;
        count.second = e->kind;
      }
    }
  }
  void index_targets() {
    targets_.resize(rec_.ranks.size());
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      targets_[r].resize(rec_.ranks[r].gpu.size());
      for (const auto& list : places_[r].edges) {
        for (const GpuEdge* e : list) targets_[r][e->source].push_back(e);
      }
    }
  }

  // ---- the rest ---------------------------------------------------------------------------------

  void add_programs() {
    out_.programs.resize(rec_.ranks.size());
    for (std::uint32_t c = 0; c < cuts_.size(); ++c) {
      auto& steps = out_.programs[cuts_[c].rank];
      if (steps.size() <= cuts_[c].step) steps.resize(cuts_[c].step + 1);
      steps[cuts_[c].step].push_back({stretch_of_[c], cuts_[c].segment, cuts_[c].bucket});
    }
  }

  void add_lags() {
    std::vector<std::vector<replaying::Binding>> bindings;
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      bindings.push_back(find_bindings(rec_, r));
    }
    const replaying::Lags lags = measure_lags(rec_, bindings, LagMode::kTypical);
    const auto middle = [&](auto&& of) {
      std::vector<Time> values;
      for (const auto& rank : lags.ranks) values.push_back(of(rank));
      return upper_median(values);
    };
    out_.lags.launch_from_start = middle([](const auto& l) { return l.launch_from_start; });
    out_.lags.launch_from_end = middle([](const auto& l) { return l.launch_from_end; });
    out_.lags.sync = middle([](const auto& l) { return l.sync; });
    for (int kind = 0; kind < kEdgeKindCount; ++kind) {
      out_.lags.overall[kind] = middle([&](const auto& l) { return l.overall[kind]; });
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
          out_.lags.between[kind][a][b] =
              middle([&](const auto& l) { return l.between[kind][a][b]; });
        }
      }
    }
    std::vector<Time> latencies = rec_.launch_latency;
    out_.launch_latency = upper_median(latencies);
    std::vector<Time> idle = launches_on_idle_streams();
    if (idle.size() < kEnoughLaunches) return;
    out_.lags.launch_from_start = upper_median(idle);
    out_.launch_latency = std::min(out_.launch_latency, out_.lags.launch_from_start);
  }

  /// From the start of a call to the start of its task, where nothing else held the task back:
  /// what other launches show is mostly backlog.
  std::vector<Time> launches_on_idle_streams() const {
    std::vector<Time> latencies;
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      const RankModel& rank = rec_.ranks[r];
      for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
        const GpuTask& task = rank.gpu[t];
        if (task.call == kNoIndex || replaying::starts_before_launch(rank, task)) continue;
        const Call& call = rank.calls[task.call];
        if (call.gpu.front() != t || replaying::launches_at_end(rank, task)) continue;
        bool idle = true;
        if (task.order > 0) {
          const std::uint32_t before = rank.streams[task.stream].tasks[task.order - 1];
          idle = rank.gpu[before].end <= call.start;
        }
        for (const GpuEdge* e : places_[r].edges[t]) {
          idle = idle && rank.gpu[e->source].end <= call.start;
        }
        if (idle) latencies.push_back(task.start - call.start);
      }
    }
    return latencies;
  }

  /// Steps' annotations against the pieces of the thread that launches first.
  void add_frame() {
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) {
      if (slots_[r].empty()) continue;
      const RankModel& rank = rec_.ranks[r];
      const auto& pieces = rank.threads[slots_[r].front()].pieces;
      Time before = Time::min();
      for (const Step& step : find_steps(set_, *rank.trace)) {
        if (step.event == kNoDetail) continue;
        const Time start = step.start + rank.host_offset;
        const Time end = step.end + rank.host_offset;
        const auto from = [](const replaying::Piece& p, Time t) { return p.start < t; };
        const auto first = std::lower_bound(pieces.begin(), pieces.end(), start, from);
        const auto last = std::lower_bound(first, pieces.end(), end, from);
        if (first == last) continue;
        out_.frame.lead.add(first->start - start);
        out_.frame.trail.add(std::max(Time{}, end - std::prev(last)->end));
        if (before != Time::min()) out_.frame.between.add(std::max(Time{}, start - before));
        before = end;
      }
    }
  }

  void find_floor() {
    out_.kernel_floor = kMostFloor;
    for (const Stretch& stretch : out_.stretches) {
      for (const StretchTask& task : stretch.tasks) {
        if (task.communication) continue;
        out_.kernel_floor = std::min(out_.kernel_floor, task.time.median());
      }
    }
  }

  void settle() {
    for (Stretch& stretch : out_.stretches) {
      for (StretchPiece& piece : stretch.pieces) {
        piece.time.settle();
        piece.gap.settle();
      }
      for (StretchCall& call : stretch.calls) {
        for (StretchWait& wait : call.wait) wait.after.settle();
      }
      for (StretchTask& task : stretch.tasks) task.time.settle();
      stretch.hand_over.settle();
    }
    for (auto& [threads, samples] : out_.hand_overs) samples.settle();
    out_.frame.lead.settle();
    out_.frame.trail.settle();
    out_.frame.between.settle();
  }

  const TraceSet& set_;
  const replaying::Recording& rec_;
  const TraceModel& model_;
  const RankGrid& grid_;
  Library out_;
  std::vector<Cut> cuts_;                                          // all ranks, in order
  std::vector<DimensionSet> groups_;                               // [collective]
  std::vector<RankPlaces> places_;                                 // [rank]
  std::vector<std::vector<std::uint32_t>> slots_;                  // [rank]: threads
  std::vector<std::vector<std::uint32_t>> copies_;                 // [stretch]: cuts
  std::vector<std::vector<std::uint32_t>> host_copies_;            // [stretch]: cuts
  std::vector<std::uint32_t> stretch_of_;                          // [cut]
  std::vector<std::vector<std::uint32_t>> parents_;                // [rank][row]: the row around it
  std::vector<std::vector<std::vector<const GpuEdge*>>> targets_;  // [rank][task]: of which source
};

}  // namespace

StreamKey stream_key(const replaying::Stream& stream) {
  return static_cast<StreamKey>(stream.id) + (static_cast<StreamKey>(stream.lane) << 32);
}

Library make_library(const TraceSet& set, const replaying::Recording& recording,
                     const TraceModel& model, const RankGrid& grid) {
  return LibraryMaker(set, recording, model, grid).run();
}

}  // namespace flopcast::whatif::structure
