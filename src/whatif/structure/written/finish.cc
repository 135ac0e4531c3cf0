#include "whatif/structure/written/finish.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flopcast/replay/collectives.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::GpuTask;
using replaying::kNoIndex;
using replaying::Piece;

/// The first step has this number, as torch.profiler's schedules begin after some warm-up.
constexpr int kFirstStep = 2;

/// The positions of `n` things in order of `before`, and where each has gone.
template <typename Before>
std::vector<std::uint32_t> sorted_order(std::size_t n, Before&& before) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}
std::vector<std::uint32_t> places_in(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

/// Finishes one rank.
class RankFinisher {
 public:
  RankFinisher(const replaying::Recording& recording, const Library& library, TraceSet& set,
               Draft& draft, std::uint32_t rank)
      : rec_(recording),
        library_(library),
        set_(set),
        draft_(draft),
        rank_(draft.ranks[rank]),
        trace_(set.traces[rank]) {}

  void run(const std::vector<std::uint32_t>& step_names) {
    describe();
    place_rows();
    add_steps(step_names);
    write_rows();
    renumber();
  }

  std::vector<std::uint32_t> task_place;  ///< where each task of the draft has gone

 private:
  const Trace& origin(const RowRef& row) const { return *rec_.ranks[row.rank].trace; }

  void describe() {
    const Trace& like = *rec_.ranks.front().trace;
    trace_.path = fmt::format("emitted rank {}", rank_.model.rank);
    trace_.rank = rank_.model.rank;
    trace_.world_size = static_cast<std::int32_t>(draft_.ranks.size());
    trace_.backend = like.backend;
    trace_.devices = like.devices;
    trace_.clock_step = like.clock_step;
    for (const auto& thread : rank_.model.threads) {
      const Track track = thread.pieces.empty() ? Track{} : origin_track(thread.pieces.front().row);
      trace_.tracks.push_back(track);
    }
    for (const replaying::Stream& stream : rank_.model.streams) {
      Track track;
      if (!stream.tasks.empty()) track = origin_track(rank_.model.gpu[stream.tasks.front()].row);
      track.pid = set_.strings.intern(std::to_string(stream.device));
      track.tid = set_.strings.intern(std::to_string(stream.id));
      track.thread_name = set_.strings.intern(fmt::format("stream {}", stream.id));
      trace_.tracks.push_back(track);
    }
  }
  Track origin_track(std::uint32_t row) const {
    const RowRef& ref = rank_.rows[row].origin;
    return origin(ref).tracks[origin(ref).events.track[ref.row]];
  }

  /// Rows begin with their first piece and end with their last, and hold the rows inside them.
  void place_rows() {
    start_.assign(rank_.rows.size(), Time::max());
    end_.assign(rank_.rows.size(), Time::min());
    const auto cover = [&](std::uint32_t row, Time start, Time end) {
      for (; row != kNoIndex; row = rank_.rows[row].parent) {
        start_[row] = std::min(start_[row], start);
        end_[row] = std::max(end_[row], end);
      }
    };
    for (const auto& thread : rank_.model.threads) {
      for (const Piece& piece : thread.pieces) cover(piece.row, piece.start, piece.end);
    }
    for (const GpuTask& task : rank_.model.gpu) cover(task.row, task.start, task.end);
  }

  void add_steps(const std::vector<std::uint32_t>& names) {
    if (rank_.model.threads.empty()) return;
    const auto& pieces = rank_.model.threads.front().pieces;
    const Time lead = library_.frame.lead.median();
    const Time trail = library_.frame.trail.median();
    for (std::size_t s = 0; s < rank_.step_begins.size() && s < names.size(); ++s) {
      const bool last = s + 1 == rank_.step_begins.size();
      const std::size_t next = last ? pieces.size() : rank_.step_begins[s + 1];
      if (rank_.step_begins[s] >= next) continue;
      const Time start = pieces[rank_.step_begins[s]].start - lead;
      Time end = pieces[next - 1].end + trail;
      if (!last) end = std::min(end, pieces[next].start - lead);
      steps_.push_back({names[s], start, std::max(start, end)});
    }
  }

  // ---- rows -------------------------------------------------------------------------------------

  struct StepRow {
    std::uint32_t name;
    Time start, end;
  };

  void write_rows() {
    const std::size_t rows = rank_.rows.size();
    const auto start = [&](std::uint32_t r) {
      return r < rows ? start_[r] : steps_[r - rows].start;
    };
    const auto end = [&](std::uint32_t r) { return r < rows ? end_[r] : steps_[r - rows].end; };
    std::vector<std::uint32_t> order =
        sorted_order(rows + steps_.size(), [&](std::uint32_t a, std::uint32_t b) {
          if (start(a) != start(b)) return start(a) < start(b);
          const bool step_a = a >= rows;
          const bool step_b = b >= rows;
          if (step_a != step_b) return step_a;
          return end(a) > end(b);
        });
    // Rows of operators that own no time are not there.
    std::erase_if(order, [&](std::uint32_t r) { return r < rows && start_[r] == Time::max(); });
    row_place_.assign(rows, kNoIndex);
    for (const std::uint32_t r : order) {
      if (r < rows) {
        row_place_[r] = static_cast<std::uint32_t>(trace_.events.size());
        write_row(rank_.rows[r], start_[r], end_[r]);
      } else {
        write_step(steps_[r - rows]);
      }
    }
  }

  void write_row(const DraftRow& row, Time start, Time end) {
    const Trace& from = origin(row.origin);
    const Events& ev = from.events;
    const std::uint32_t r = row.origin.row;
    push(ev.name[r], ev.category[r], start, end);
    Events& out = trace_.events;
    const bool gpu = is_gpu_work(ev.category[r]);
    out.track.push_back(gpu ? track_of_stream(row.stream) : row.track);
    out.stream.push_back(row.stream);
    out.device.push_back(gpu ? rank_.model.rank % 8 : -1);
    out.correlation.push_back(row.correlation);
    out.external_id.push_back(kNoId);
    out.detail.push_back(copy_detail(from, ev.category[r], ev.detail[r]));
    out.collective.push_back(copy_collective(from, ev.collective[r], row.collective));
  }

  void write_step(const StepRow& step) {
    push(step.name, Category::kUserAnnotation, step.start, step.end);
    Events& out = trace_.events;
    out.track.push_back(0);
    out.stream.push_back(kNoStream);
    out.device.push_back(-1);
    out.correlation.push_back(kNoId);
    out.external_id.push_back(kNoId);
    out.detail.push_back(kNoDetail);
    out.collective.push_back(kNoDetail);
  }

  void push(std::uint32_t name, Category category, Time start, Time end) {
    trace_.events.start.push_back(start);
    trace_.events.duration.push_back(end - start);
    trace_.events.name.push_back(name);
    trace_.events.category.push_back(category);
    ++trace_.row_counts[static_cast<std::size_t>(category)];
  }

  std::uint32_t track_of_stream(std::int32_t id) const {
    for (std::uint32_t s = 0; s < rank_.model.streams.size(); ++s) {
      if (rank_.model.streams[s].id == id) {
        return static_cast<std::uint32_t>(rank_.model.threads.size()) + s;
      }
    }
    return 0;
  }

  template <typename Detail>
  std::uint32_t copied(const std::vector<Detail>& from, std::vector<Detail>& to,
                       std::uint32_t index) {
    const auto [it, fresh] =
        details_.try_emplace(&from[index], static_cast<std::uint32_t>(to.size()));
    if (fresh) to.push_back(from[index]);
    return it->second;
  }
  std::uint32_t copy_detail(const Trace& from, Category category, std::uint32_t index) {
    if (index == kNoDetail) return kNoDetail;
    switch (category) {
      case Category::kKernel:
        return copied(from.kernels, trace_.kernels, index);
      case Category::kMemcpy:
      case Category::kMemset:
        return copied(from.copies, trace_.copies, index);
      case Category::kCpuOp:
        return copied(from.ops, trace_.ops, index);
      default:
        return kNoDetail;
    }
  }

  /// What the row tells of its collective, with the group that the new run has.
  std::uint32_t copy_collective(const Trace& from, std::uint32_t index, std::uint32_t collective) {
    if (index == kNoDetail) return kNoDetail;
    if (collective == kNoIndex) return copied(from.collectives, trace_.collectives, index);
    CollectiveDetail detail = from.collectives[index];
    const DraftCollective& c = draft_.collectives[collective];
    detail.group_ranks = set_.strings.intern(fmt::format("[{}]", fmt::join(c.ranks, ", ")));
    detail.group_name = set_.strings.intern(
        fmt::format("{}:{}", set_.strings[detail.group_desc], fmt::join(c.ranks, "-")));
    detail.group_size = static_cast<std::int32_t>(c.ranks.size());
    const std::int64_t most = std::max(detail.in_elements, detail.out_elements);
    const CollectiveDetail& old = from.collectives[index];
    if (most > 0 && c.recorded_bytes > 0 && c.bytes != c.recorded_bytes) {
      const double factor = static_cast<double>(c.bytes) / static_cast<double>(c.recorded_bytes);
      detail.in_elements = static_cast<std::int64_t>(static_cast<double>(old.in_elements) * factor);
      detail.out_elements =
          static_cast<std::int64_t>(static_cast<double>(old.out_elements) * factor);
    }
    detail.sequence = ++sequence_[detail.group_name];
    trace_.collectives.push_back(detail);
    return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }

  // ---- order ------------------------------------------------------------------------------------

  /// Calls and tasks by start, as recordings have them.
  void renumber() {
    replaying::RankModel& model = rank_.model;
    const auto calls = sorted_order(model.calls.size(), [&](std::uint32_t a, std::uint32_t b) {
      return model.calls[a].start < model.calls[b].start;
    });
    const auto tasks = sorted_order(model.gpu.size(), [&](std::uint32_t a, std::uint32_t b) {
      return model.gpu[a].start < model.gpu[b].start;
    });
    const auto call_place = places_in(calls);
    task_place = places_in(tasks);
    std::vector<Call> new_calls;
    for (const std::uint32_t c : calls) {
      Call call = std::move(model.calls[c]);
      call.row = row_place_[call.row];
      if (call.op != kNoIndex) call.op = row_place_[call.op];
      for (std::uint32_t& t : call.gpu) t = task_place[t];
      new_calls.push_back(std::move(call));
    }
    model.calls = std::move(new_calls);
    std::vector<GpuTask> new_tasks;
    for (const std::uint32_t t : tasks) {
      GpuTask task = model.gpu[t];
      task.row = row_place_[task.row];
      task.call = call_place[task.call];
      new_tasks.push_back(task);
    }
    model.gpu = std::move(new_tasks);
    for (auto& thread : model.threads) {
      for (Piece& piece : thread.pieces) piece.row = row_place_[piece.row];
      for (std::uint32_t& c : thread.calls) c = call_place[c];
    }
    for (auto& stream : model.streams) {
      for (std::uint32_t& t : stream.tasks) t = task_place[t];
    }
    for (auto& edge : rank_.gpu_edges) {
      edge.source = task_place[edge.source];
      edge.target = task_place[edge.target];
    }
    std::sort(rank_.gpu_edges.begin(), rank_.gpu_edges.end(), [](const auto& a, const auto& b) {
      return std::tie(a.target, a.source, a.kind) < std::tie(b.target, b.source, b.kind);
    });
    for (auto& wait : rank_.waits) {
      wait.call = call_place[wait.call];
      for (std::uint32_t& t : wait.tasks) t = task_place[t];
    }
    std::sort(rank_.waits.begin(), rank_.waits.end(),
              [](const auto& a, const auto& b) { return a.call < b.call; });
    std::sort(rank_.thread_edges.begin(), rank_.thread_edges.end(),
              [](const auto& a, const auto& b) {
                return std::tie(a.to_thread, a.to_piece) < std::tie(b.to_thread, b.to_piece);
              });
    model.trace = &trace_;
  }

  const replaying::Recording& rec_;
  const Library& library_;
  TraceSet& set_;
  Draft& draft_;
  RankDraft& rank_;
  Trace& trace_;
  std::vector<Time> start_, end_;         // [row of the draft]
  std::vector<std::uint32_t> row_place_;  // [row of the draft]: row of the trace
  std::vector<StepRow> steps_;
  std::unordered_map<const void*, std::uint32_t> details_;
  std::unordered_map<std::uint32_t, std::int64_t> sequence_;  // by group
};

}  // namespace

FinishedRun finish(const TraceSet& set, const replaying::Recording& recording,
                   const Library& library, Draft draft) {
  FinishedRun out;
  out.set = std::make_shared<TraceSet>();
  out.set->label = set.label;
  // The same ids for the same texts: names in rows stay as they are.
  for (std::uint32_t s = 0; s < set.strings.size(); ++s) out.set->strings.intern(set.strings[s]);
  out.set->traces.resize(draft.ranks.size());
  std::vector<std::uint32_t> names;
  const std::size_t steps = draft.ranks.empty() ? 0 : draft.ranks.front().step_begins.size();
  for (std::size_t s = 0; s < steps; ++s) {
    out.steps.push_back(fmt::format("ProfilerStep#{}", kFirstStep + static_cast<int>(s)));
    names.push_back(out.set->strings.intern(out.steps.back()));
  }
  out.recording = std::make_shared<replaying::Recording>();
  replaying::Recording& rec = *out.recording;
  std::vector<std::vector<std::uint32_t>> places;
  for (std::uint32_t r = 0; r < draft.ranks.size(); ++r) {
    RankFinisher finisher(recording, library, *out.set, draft, r);
    finisher.run(names);
    std::vector<std::uint8_t>& changed = out.changed.emplace_back();
    changed.resize(finisher.task_place.size());
    for (std::size_t t = 0; t < changed.size(); ++t) {
      changed[finisher.task_place[t]] = draft.ranks[r].changed[t];
    }
    places.push_back(std::move(finisher.task_place));
  }
  for (DraftCollective& c : draft.collectives) {
    for (auto& m : c.members) m.task = places[m.rank][m.task];
    rec.collectives.push_back({c.name, c.group, c.bytes, std::move(c.members)});
  }
  for (RankDraft& rank : draft.ranks) {
    rec.ranks.push_back(std::move(rank.model));
    rec.cross_stream.emplace_back().edges = std::move(rank.gpu_edges);
    rec.sync_waits.emplace_back().waits = std::move(rank.waits);
    rec.thread_edges.push_back(std::move(rank.thread_edges));
    rec.launch_latency.push_back(library.launch_latency);
    rank = {};
  }
  replaying::update_arrivals(rec.ranks, rec.collectives);
  return out;
}

}  // namespace flopcast::whatif::structure
