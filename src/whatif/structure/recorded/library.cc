#include "whatif/structure/recorded/library.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/numeric/median.h"
#include "base/numeric/mix.h"
#include "whatif/structure/recorded/step_frame.h"
#include "whatif/structure/recorded/task_waits.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
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

std::uint64_t join(std::uint64_t hash, std::uint64_t value) { return mix(hash ^ mix(value)); }

MessageWay message_way(std::string_view operation) {
  const bool send = operation.find("send") != std::string_view::npos;
  const bool receive = operation.find("recv") != std::string_view::npos;
  if (send == receive) return MessageWay::kBoth;
  return send ? MessageWay::kSend : MessageWay::kReceive;
}

class LibraryMaker {
 public:
  LibraryMaker(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model,
               const RankGrid& grid)
      : set_(set), rec_(recording), at_(recording, model, grid) {}

  Library run() {
    group_copies();
    measure_speeds();
    for (std::uint32_t s = 0; s < copies_.size(); ++s) fill(s);
    const TaskWaits waits(rec_, at_, out_.stretches, stretch_of_);
    for (std::uint32_t s = 0; s < copies_.size(); ++s) waits.add(out_.stretches[s], copies_[s]);
    add_programs();
    add_typical_lags(rec_, at_, out_);
    add_step_frame(set_, rec_, at_, out_);
    settle();
    find_floor();
    return std::move(out_);
  }

 private:
  // ---- copies -----------------------------------------------------------------------------------

  StretchKey key(const Cut& cut) const {
    const ModelUnit& unit = at_.unit(cut);
    StretchKey key{unit.pass, unit.part, cut.bucket != kNoIndex, unit.recomputes, 0};
    for (const std::uint32_t t : cut.tasks) {
      const GpuTask& task = at_.rank(cut).gpu[t];
      key.kernels = join(key.kernels, at_.events(cut.rank).name[task.row]);
      key.kernels = join(key.kernels, at_.operation(cut.rank, task));
      key.kernels = join(key.kernels, at_.group_of(task));
      // Each pair of stages has a stream of its own: which says nothing of the message.
      if (unit.part == UnitPart::kExchange) continue;
      key.kernels = join(
          key.kernels, static_cast<std::uint64_t>(stream_key(at_.rank(cut).streams[task.stream])));
    }
    return key;
  }
  void group_copies() {
    std::map<StretchKey, std::uint32_t> known;
    for (std::uint32_t c = 0; c < at_.cuts.size(); ++c) {
      const auto [it, fresh] =
          known.try_emplace(key(at_.cuts[c]), static_cast<std::uint32_t>(copies_.size()));
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
    for (const std::uint32_t c : copies_[s]) like[host_signature(at_.cuts[c])].push_back(c);
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
    const auto& pieces = at_.rank(cut).threads[cut.thread].pieces;
    std::unordered_map<std::uint32_t, std::uint32_t> rows;
    for (const std::uint32_t p : cut.pieces) {
      const std::uint32_t row = pieces[p].row;
      const auto number = rows.try_emplace(row, static_cast<std::uint32_t>(rows.size()));
      hash = join(hash, at_.events(cut.rank).name[row]);
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
      const Cut& first = at_.cuts[copies_[s].front()];
      for (std::size_t i = 0; i < first.tasks.size(); ++i) {
        compare(copies_[s], kTellsGpuSpeed, gpu, [&](const Cut& cut) {
          const GpuTask& task = at_.rank(cut).gpu[cut.tasks[i]];
          return task.communication ? Time{} : task.end - task.start;
        });
      }
      const Cut& lent = at_.cuts[host_copies_[s].front()];
      for (std::size_t i = 0; i < lent.pieces.size(); ++i) {
        compare(host_copies_[s], kTellsHostSpeed, host, [&](const Cut& cut) {
          if (at_.waits(cut, cut.pieces[i])) return Time{};
          const auto& piece = at_.rank(cut).threads[cut.thread].pieces[cut.pieces[i]];
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
      const Time time = time_of(at_.cuts[c]);
      if (time < least) return;
      by_rank[at_.cuts[c].rank].push_back(time);
    }
    if (by_rank.size() < 2) return;
    for (auto& [r, times] : by_rank) all.push_back(upper_median(times));
    const double usual = static_cast<double>(upper_median(all).ps);
    for (auto& [r, times] : by_rank) {
      ratios[r].push_back(static_cast<double>(upper_median(times).ps) / usual);
    }
  }

  // ---- one stretch ------------------------------------------------------------------------------

  void fill(std::uint32_t s) {
    Stretch& stretch = out_.stretches[s];
    stretch.copies = static_cast<std::uint32_t>(copies_[s].size());
    const Cut& model = at_.cuts[host_copies_[s].front()];
    stretch.thread = at_.slot(model.rank, model.thread);
    for (const std::uint32_t t : model.tasks) {
      stretch.way = message_way(set_.strings[at_.operation(model.rank, at_.rank(model).gpu[t])]);
    }
    shape_host(stretch, model);
    for (const std::uint32_t c : host_copies_[s]) sample_host(stretch, at_.cuts[c]);
    shape_tasks(stretch, model);
    for (const std::uint32_t c : copies_[s]) sample_tasks(stretch, at_.cuts[c]);
  }

  void shape_host(Stretch& stretch, const Cut& cut) {
    if (cut.thread == kNoIndex) return;
    const RankModel& rank = at_.rank(cut);
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
      const std::uint32_t w = at_.places[cut.rank].wait_of[c];
      if (w != kNoIndex) shape_wait(out, cut, rec_.sync_waits[cut.rank].waits[w]);
    }
    for (StretchRow& out : stretch.rows) {
      std::uint32_t around = at_.parents[cut.rank][out.row.row];
      while (around != kNoIndex && !row_slot.contains(around)) {
        around = at_.parents[cut.rank][around];
      }
      if (around != kNoIndex) out.parent = row_slot[around];
    }
  }

  void shape_wait(StretchCall& call, const Cut& cut, const SyncWait& wait) {
    StretchWait& out = call.wait.emplace_back();
    const RankModel& rank = at_.rank(cut);
    std::set<StreamKey> streams;
    for (const std::uint32_t s : wait.streams) streams.insert(stream_key(rank.streams[s]));
    out.streams.assign(streams.begin(), streams.end());
    out.host_remainder = wait.host_remainder;
    for (const std::uint32_t t : wait.tasks) {
      if (rank.gpu[t].call == wait.call) {
        out.own_tasks = true;
      } else if (rank.gpu[t].call != kNoIndex) {
        out.tasks.push_back({stream_key(rank.streams[rank.gpu[t].stream]),
                             at_.back(cut.rank, t, rank.calls[wait.call].start), EdgeKind::kSync});
      }
    }
  }

  void sample_host(Stretch& stretch, const Cut& cut) {
    if (cut.thread == kNoIndex) return;
    const auto& pieces = at_.rank(cut).threads[cut.thread].pieces;
    const RankPlaces& places = at_.places[cut.rank];
    const double speed = 1 / out_.host_speed[cut.rank];
    for (std::size_t i = 0; i < cut.pieces.size(); ++i) {
      const std::uint32_t p = cut.pieces[i];
      StretchPiece& out = stretch.pieces[i];
      Time time = pieces[p].end - pieces[p].start;
      const Time lag = places.hand_over[cut.thread][p];
      if (lag != Time::min()) {
        const auto from = at_.slot(cut.rank, places.hand_over_from[cut.thread][p]);
        if (i == 0) stretch.hand_over.add(times(lag, speed));
        out_.hand_overs[{from, at_.slot(cut.rank, cut.thread)}].add(times(lag, speed));
      } else if (p > 0) {
        out.gap.add(times(pieces[p].start - pieces[p - 1].end, speed));
      }
      const std::uint32_t c = at_.call_at(cut.rank, cut.thread, p);
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
      const std::uint32_t c = at_.call_at(cut.rank, cut.thread, cut.pieces[call.first_piece]);
      const std::uint32_t w = c == kNoIndex ? kNoIndex : at_.places[cut.rank].wait_of[c];
      if (w == kNoIndex) continue;
      const SyncWait& wait = rec_.sync_waits[cut.rank].waits[w];
      if (wait.blocked) call.wait.front().after.add(wait.after);
    }
  }

  void shape_tasks(Stretch& stretch, const Cut& cut) {
    const RankModel& rank = at_.rank(cut);
    for (std::uint32_t i = 0; i < cut.tasks.size(); ++i) {
      const GpuTask& task = rank.gpu[cut.tasks[i]];
      StretchTask& out = stretch.tasks.emplace_back();
      out.row = {cut.rank, task.row};
      out.stream = stream_key(rank.streams[task.stream]);
      out.communication = task.communication;
      out.group = at_.group_of(task);
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
    const RankModel& rank = at_.rank(cut);
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

  // ---- the rest ---------------------------------------------------------------------------------

  void add_programs() {
    out_.programs.resize(rec_.ranks.size());
    for (std::uint32_t c = 0; c < at_.cuts.size(); ++c) {
      auto& steps = out_.programs[at_.cuts[c].rank];
      if (steps.size() <= at_.cuts[c].step) steps.resize(at_.cuts[c].step + 1);
      steps[at_.cuts[c].step].push_back({stretch_of_[c], at_.cuts[c].segment, at_.cuts[c].bucket});
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
  RecordedCuts at_;
  Library out_;
  std::vector<std::vector<std::uint32_t>> copies_;       // [stretch]: cuts
  std::vector<std::vector<std::uint32_t>> host_copies_;  // [stretch]: cuts
  std::vector<std::uint32_t> stretch_of_;                // [cut]
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
