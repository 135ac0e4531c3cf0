#include "whatif/structure/written/layout.h"

#include <algorithm>

#include "flopcast/engine.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::GpuClass;
using replaying::GpuTask;
using replaying::kNoIndex;

class Layout {
 public:
  Layout(const replaying::Recording& recording, const Library& library, Draft& draft)
      : rec_(recording), library_(library), draft_(draft), ids_(draft.ranks.size()) {}

  std::optional<Diagnostic> run(const TraceSet& set) {
    for (std::uint32_t r = 0; r < draft_.ranks.size(); ++r) {
      add_host(r);
      add_streams(r);
    }
    add_meetings();
    for (std::uint32_t r = 0; r < draft_.ranks.size(); ++r) add_edges(r);
    const Graph graph = std::move(builder_).build();
    release_.resize(graph.task_count(), Time::min());
    const Result<Run> run = simulate(graph, release_, &set.strings);
    if (!run) return run.error();
    for (std::uint32_t r = 0; r < draft_.ranks.size(); ++r) take_times(r, *run);
    return std::nullopt;
  }

 private:
  struct Ids {
    std::vector<std::vector<TaskId>> first, last;  // [thread][piece]
    std::vector<TaskId> task_first, task_last;     // [task]
  };

  TaskId task(TaskKind kind, Time duration, Time gap) {
    return builder_.add_task(kind, 0, duration, gap);
  }

  void add_host(std::uint32_t r) {
    const RankDraft& rank = draft_.ranks[r];
    Ids& ids = ids_[r];
    std::vector<std::uint32_t> wait_of(rank.model.calls.size(), kNoIndex);
    for (std::uint32_t w = 0; w < rank.waits.size(); ++w) wait_of[rank.waits[w].call] = w;
    for (std::uint32_t t = 0; t < rank.model.threads.size(); ++t) {
      builder_.add_processor(Processor::Kind::kThread, rank.model.rank, t);
      const std::size_t pieces = rank.model.threads[t].pieces.size();
      std::vector<TaskKind> kind(pieces, TaskKind::kOperator);
      for (const std::uint32_t c : rank.model.threads[t].calls) {
        const Call& call = rank.model.calls[c];
        // A call that puts work on a stream and waits for it is two tasks.
        const bool waits = wait_of[c] != kNoIndex;
        if (!call.gpu.empty()) kind[call.first_piece] = TaskKind::kLaunch;
        if (waits) kind[call.first_piece] = call.gpu.empty() ? TaskKind::kSync : TaskKind::kCopy;
      }
      std::vector<TaskId>& first = ids.first.emplace_back();
      std::vector<TaskId>& last = ids.last.emplace_back();
      for (std::size_t p = 0; p < pieces; ++p) {
        const Time time = rank.piece_time[t][p];
        const Time gap = rank.piece_gap[t][p];
        if (kind[p] == TaskKind::kCopy) {
          first.push_back(task(TaskKind::kLaunch, Time{}, gap));
          last.push_back(task(TaskKind::kSync, time, Time{}));
        } else {
          first.push_back(task(kind[p], time, gap));
          last.push_back(first.back());
        }
      }
      if (t == 0 && pieces > 0) {
        release_.resize(first.front() + 1, Time::min());
        release_[first.front()] = Time{};
      }
    }
  }

  GpuClass class_of(const RankDraft& rank, const GpuTask& task) const {
    const RowRef& origin = rank.rows[task.row].origin;
    if (rec_.ranks[origin.rank].trace->events.category[origin.row] != Category::kKernel) {
      return GpuClass::kCopy;
    }
    return task.communication ? GpuClass::kCommunication : GpuClass::kCompute;
  }

  void add_streams(std::uint32_t r) {
    const RankDraft& rank = draft_.ranks[r];
    Ids& ids = ids_[r];
    ids.task_first.resize(rank.model.gpu.size());
    ids.task_last.resize(rank.model.gpu.size());
    for (const replaying::Stream& stream : rank.model.streams) {
      builder_.add_processor(Processor::Kind::kStream, rank.model.rank, stream.id);
      const GpuTask* before = nullptr;
      for (const std::uint32_t t : stream.tasks) {
        const GpuTask& gpu = rank.model.gpu[t];
        const Time gap = before == nullptr
                             ? Time{}
                             : library_.lags.after(EdgeKind::kStream, class_of(rank, *before),
                                                   class_of(rank, gpu));
        before = &gpu;
        if (gpu.collective == kNoIndex) {
          ids.task_first[t] = task(TaskKind::kCompute, rank.task_time[t], gap);
          ids.task_last[t] = ids.task_first[t];
        } else {
          ids.task_first[t] = task(TaskKind::kArrival, Time{}, gap);
          ids.task_last[t] = task(TaskKind::kTransfer, rank.task_time[t], Time{});
        }
      }
    }
  }

  void add_meetings() {
    builder_.add_processor(Processor::Kind::kHub, -1, 0);
    for (const DraftCollective& c : draft_.collectives) {
      const TaskId hub = task(TaskKind::kRendezvous, Time{}, Time{});
      for (const auto& m : c.members) {
        builder_.add_edge(
            {ids_[m.rank].task_first[m.task], hub, Time{}, EdgeKind::kRendezvous, false});
        builder_.add_edge(
            {hub, ids_[m.rank].task_last[m.task], Time{}, EdgeKind::kRendezvous, false});
      }
      if (c.members.size() < c.ranks.size()) {
        builder_.expect_arrivals(hub,
                                 static_cast<std::uint32_t>(c.ranks.size() - c.members.size()));
      }
    }
  }

  void add_edges(std::uint32_t r) {
    const RankDraft& rank = draft_.ranks[r];
    const Ids& ids = ids_[r];
    for (std::size_t e = 0; e < rank.thread_edges.size(); ++e) {
      const replaying::ThreadEdge& edge = rank.thread_edges[e];
      builder_.add_edge({ids.last[edge.from_thread][edge.from_piece],
                         ids.first[edge.to_thread][edge.to_piece], rank.thread_lags[e],
                         EdgeKind::kThread, false});
    }
    for (std::uint32_t t = 0; t < rank.model.gpu.size(); ++t) {
      const Call& call = rank.model.calls[rank.model.gpu[t].call];
      const TaskId source = ids.first[call.thread][call.first_piece];
      builder_.add_edge(
          {source, ids.task_first[t], library_.lags.launch_from_start, EdgeKind::kLaunch, true});
    }
    for (const replaying::GpuEdge& e : rank.gpu_edges) {
      const Time lag = library_.lags.after(e.kind, class_of(rank, rank.model.gpu[e.source]),
                                           class_of(rank, rank.model.gpu[e.target]));
      builder_.add_edge({ids.task_last[e.source], ids.task_first[e.target], lag, e.kind, false});
    }
    for (const replaying::SyncWait& wait : rank.waits) {
      const Call& call = rank.model.calls[wait.call];
      std::vector<std::uint32_t> sources;
      for (const std::uint32_t t : wait.tasks) sources.push_back(ids.task_last[t] | kFixedSource);
      builder_.add_wait(ids.last[call.thread][call.first_piece], sources, wait.after);
    }
  }

  void take_times(std::uint32_t r, const Run& run) {
    RankDraft& rank = draft_.ranks[r];
    const Ids& ids = ids_[r];
    for (std::size_t t = 0; t < rank.model.threads.size(); ++t) {
      auto& pieces = rank.model.threads[t].pieces;
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        pieces[p].start = run.start[ids.first[t][p]];
        pieces[p].end = run.end[ids.last[t][p]];
      }
    }
    for (Call& call : rank.model.calls) {
      const auto& pieces = rank.model.threads[call.thread].pieces;
      call.start = pieces[call.first_piece].start;
      call.end = pieces[call.last_piece].end;
    }
    for (std::uint32_t t = 0; t < rank.model.gpu.size(); ++t) {
      rank.model.gpu[t].start = run.start[ids.task_first[t]];
      rank.model.gpu[t].end = run.end[ids.task_last[t]];
    }
    for (replaying::SyncWait& wait : rank.waits) {
      const Call& call = rank.model.calls[wait.call];
      Time last = Time::min();
      for (const std::uint32_t t : wait.tasks) last = std::max(last, rank.model.gpu[t].end);
      wait.blocked = last > call.start;
      wait.after = wait.blocked ? call.end - last : Time{};
    }
  }

  const replaying::Recording& rec_;
  const Library& library_;
  Draft& draft_;
  GraphBuilder builder_;
  std::vector<Time> release_;
  std::vector<Ids> ids_;
};

}  // namespace

std::optional<Diagnostic> lay_out(const replaying::Recording& recording, const Library& library,
                                  const TraceSet& set, Draft& draft) {
  return Layout(recording, library, draft).run(set);
}

}  // namespace flopcast::whatif::structure
