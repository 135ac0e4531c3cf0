#include "whatif/order/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "base/numeric/median.h"
#include "whatif/change/stretch.h"
#include "whatif/durations/activations.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// A rank's GPU tasks in the order in which they were put on their streams. Where launches of two
/// threads crossed, streams and events tell what came first.
std::vector<std::uint32_t> put_order(const RankModel& rank, const std::vector<GpuEdge>& edges) {
  std::vector<Time> put(rank.gpu.size(),
                        Time::min());  // what was there before the recording: first
  std::vector<std::vector<std::uint32_t>> sources(rank.gpu.size());
  for (const GpuEdge& e : edges) sources[e.target].push_back(e.source);
  for (std::uint32_t t = 0; t < put.size(); ++t) {  // by start
    const GpuTask& task = rank.gpu[t];
    if (task.call != kNoIndex) put[t] = rank.calls[task.call].start;
    if (task.order > 0)
      put[t] = std::max(put[t], put[rank.streams[task.stream].tasks[task.order - 1]]);
    for (const std::uint32_t source : sources[t]) put[t] = std::max(put[t], put[source]);
  }
  std::vector<std::uint32_t> order(rank.gpu.size());
  for (std::uint32_t t = 0; t < order.size(); ++t) order[t] = t;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return put[a] < put[b]; });
  return order;
}

/// Streams that run kernels of computation.
std::vector<std::uint32_t> computing_streams(const RankModel& rank) {
  std::vector<std::uint32_t> streams;
  for (std::uint32_t s = 0; s < rank.streams.size(); ++s) {
    const auto& tasks = rank.streams[s].tasks;
    if (std::any_of(tasks.begin(), tasks.end(), [&](std::uint32_t t) {
          return gpu_class(rank, rank.gpu[t]) == GpuClass::kCompute;
        }))
      streams.push_back(s);
  }
  return streams;
}

void sort_edges(std::vector<GpuEdge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const GpuEdge& a, const GpuEdge& b) {
    return std::tie(a.target, a.source) < std::tie(b.target, b.source);
  });
}

/// Adds edges that were not recorded; where a pair has one, it stays as it is.
void add_edges(std::vector<GpuEdge>& edges, const std::vector<GpuEdge>& more) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> there;
  for (const GpuEdge& e : edges) there.push_back({e.source, e.target});
  std::sort(there.begin(), there.end());
  for (const GpuEdge& e : more) {
    if (!std::binary_search(there.begin(), there.end(), std::pair(e.source, e.target)))
      edges.push_back(e);
  }
  sort_edges(edges);
}

GpuEdge added_edge(std::uint32_t source, std::uint32_t target) {
  GpuEdge edge;
  edge.source = source;
  edge.target = target;
  edge.kind = EdgeKind::kEvent;
  edge.added = true;
  return edge;
}

/// Both ways between collectives and computation. All edges point from what was put earlier to what
/// was put later, as streams and events do: no circle can arise on a rank.
std::vector<GpuEdge> take_turns(const RankModel& rank, const std::vector<GpuEdge>& recorded) {
  std::vector<GpuEdge> edges;
  const std::vector<std::uint32_t> computing = computing_streams(rank);
  std::map<std::uint32_t, std::uint32_t> last;  // computing stream: task
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>>
      since;  // and collectives after it
  for (const std::uint32_t t : put_order(rank, recorded)) {
    const GpuTask& task = rank.gpu[t];
    if (task.communication) {
      for (const std::uint32_t s : computing) {
        if (s == task.stream) continue;
        if (last.contains(s)) edges.push_back(added_edge(last[s], t));
        since[s][task.stream] = t;
      }
    }
    if (!std::binary_search(computing.begin(), computing.end(), task.stream)) continue;
    if (!task.communication) {
      for (const auto& waited : since[task.stream]) edges.push_back(added_edge(waited.second, t));
      since[task.stream].clear();
    }
    last[task.stream] = t;
  }
  return edges;
}

/// Kernels need as many equals beside no communication for a doubt about them.
constexpr std::size_t kEnoughEqual = 3;

/// Kernels that ran beside communication, as long as the median of their equals on their rank that
/// did not, where that is less: communication takes SMs and memory from them.
void without_company(const Recording& recording, std::uint32_t r, Durations::Rank& durations) {
  const RankModel& rank = recording.ranks[r];
  std::vector<Time> begins, until;  // of communication, by start; latest end so far
  for (const GpuTask& task : rank.gpu) {
    if (!task.communication) continue;
    begins.push_back(task.start);
    until.push_back(until.empty() ? task.end : std::max(until.back(), task.end));
  }
  std::vector<std::uint32_t> beside;
  std::map<std::uint64_t, std::vector<Time>> alone;
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const GpuTask& task = rank.gpu[t];
    if (gpu_class(rank, task) != GpuClass::kCompute) continue;
    const auto begun = std::lower_bound(begins.begin(), begins.end(), task.end) - begins.begin();
    if (begun > 0 && until[static_cast<std::size_t>(begun - 1)] > task.start) {
      beside.push_back(t);
    } else {
      alone[launch_shape(rank, task)].push_back(gpu_time(durations, t));
    }
  }
  std::map<std::uint64_t, Time> usual;
  for (auto& [shape, times] : alone) {
    if (times.size() >= kEnoughEqual) usual[shape] = upper_median(times);
  }
  for (const std::uint32_t t : beside) {
    const auto found = usual.find(launch_shape(rank, rank.gpu[t]));
    if (found != usual.end() && found->second < gpu_time(durations, t))
      set_gpu_time(durations, rank.gpu[t], t, found->second);
  }
}

/// What a rank's optimizer runs first after a moment of its program.
class Optimizers {
 public:
  Optimizers(const RankModel& rank, const Program& program) : rank_(rank) {
    for (std::uint32_t w = 0; w < program.works.size(); ++w) {
      const Work& work = program.works[w];
      if (work.pass == Pass::kOptimizer && !rank.gpu[work.task].communication)
        works_.push_back({w, work.task});
    }
  }
  /// On a stream, after so many works; kNoIndex: nothing.
  std::uint32_t next(std::uint32_t work, std::uint32_t stream) const {
    for (auto it = std::upper_bound(works_.begin(), works_.end(), std::pair(work, kNoIndex));
         it != works_.end(); ++it) {
      if (rank_.gpu[it->second].stream == stream) return it->second;
    }
    return kNoIndex;
  }

 private:
  const RankModel& rank_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> works_;  // index in the program, task
};

/// Whether an edge is an event from a collective to computation.
bool is_wait_for(const RankModel& rank, const GpuEdge& e) {
  return (e.kind == EdgeKind::kEvent || e.kind == EdgeKind::kEventInferred) &&
         rank.gpu[e.source].communication && !rank.gpu[e.target].communication;
}

/// Puts off the waits for a rank's collectives; how many.
std::uint64_t put_off(const RankModel& rank, const Program& program,
                      std::optional<CollectiveOp> operation, std::vector<GpuEdge>& edges) {
  const Activations activations(rank, program);
  const Optimizers optimizers(rank, program);
  std::map<std::uint32_t, std::uint32_t> free;  // collectives that may run on: task, work
  std::vector<Pass> pass(rank.gpu.size(), Pass::kOther);
  for (std::uint32_t w = 0; w < program.works.size(); ++w) {
    const Work& work = program.works[w];
    pass[work.task] = work.pass;
    if (!work.operation || work.pass == Pass::kOptimizer) continue;
    const bool gradient = work.pass == Pass::kBackward && !activations.carried_by(work);
    if (operation ? work.operation == operation : gradient) free.emplace(work.task, w);
  }
  std::vector<GpuEdge> later;
  std::uint64_t count = 0;
  std::erase_if(edges, [&](const GpuEdge& e) {
    const auto found = free.find(e.source);
    if (found == free.end() || !is_wait_for(rank, e) || pass[e.target] == Pass::kOptimizer)
      return false;
    const std::uint32_t use = optimizers.next(found->second, rank.gpu[e.target].stream);
    if (use != kNoIndex) later.push_back(added_edge(e.source, use));
    ++count;
    return true;
  });
  add_edges(edges, later);
  return count;
}

void note(ChangedRun& run, std::string what, std::uint64_t tasks) {
  WhatIfNote assumed;
  assumed.what = std::move(what);
  assumed.how = "assumed";
  assumed.tasks = tasks;
  run.notes.push_back(std::move(assumed));
}

}  // namespace

std::optional<Diagnostic> remove_overlap(ChangedRun& run, const Change& change) {
  auto changed = std::make_shared<Recording>(*run.recording);
  std::uint64_t collectives = 0, edges = 0;
  for (std::size_t r = 0; r < changed->ranks.size(); ++r) {
    const RankModel& rank = changed->ranks[r];
    for (const GpuTask& task : rank.gpu) collectives += task.communication;
    const std::vector<GpuEdge> turns = take_turns(rank, changed->cross_stream[r].edges);
    edges += turns.size();
    add_edges(changed->cross_stream[r].edges, turns);
  }
  if (collectives == 0 || edges == 0) {
    run.refused.push_back(refusal(
        change, "the recording has no communication on a stream of its own beside computation"));
    return std::nullopt;
  }
  Doubt doubt{"kernels that had communication beside them", run.durations, run.durations};
  for (std::uint32_t r = 0; r < changed->ranks.size(); ++r)
    without_company(*changed, r, doubt.low.ranks[r]);
  run.doubts.push_back(std::move(doubt));
  run.recording = std::move(changed);
  note(run, "collectives and computation take turns in the order of their launches", collectives);
  return std::nullopt;
}

std::optional<Diagnostic> add_overlap(ChangedRun& run, const Change& change,
                                      const AddOverlap& asked) {
  const NameFacts facts(*run.set);
  Tokens tokens;
  auto changed = std::make_shared<Recording>(*run.recording);
  std::uint64_t count = 0;
  for (std::uint32_t r = 0; r < changed->ranks.size(); ++r) {
    const Program program = make_program(*run.set, facts, *run.recording, r, tokens);
    count += put_off(changed->ranks[r], program, asked.operation, changed->cross_stream[r].edges);
  }
  if (count == 0) {
    run.refused.push_back(refusal(
        change,
        asked.operation
            ? fmt::format("no computation before the optimizer waits for {}",
                          flopcast::name(*asked.operation))
            : "no computation before the optimizer waits for a gradient's collective; name an "
              "operation to put off waits for others, as in overlap:all_reduce"));
    return std::nullopt;
  }
  run.recording = std::move(changed);
  std::string what = "nothing reads gradients before the optimizer";
  if (asked.operation) {
    what =
        fmt::format("nothing reads results of {} before the optimizer: a bound, if something does",
                    flopcast::name(*asked.operation));
  }
  note(run, std::move(what), count);
  return std::nullopt;
}

}  // namespace flopcast::whatif
