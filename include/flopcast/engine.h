// Floor 4: runs an execution graph. One clock for all ranks (Lumos, Algorithm 1).
//
// Tasks without runtime edges form a max-plus system: their times do not depend on the order in
// which they are visited, so they are settled from a worklist without a queue. Only runtime waits
// need time order: when the worklist is dry, the earliest reached wait is resolved; whatever is
// still unsettled hangs on some wait reached at or after it, so nothing can still be launched
// before it. Tasks that need a place in a room (the SMs of a GPU) are resolved like waits: in the
// order in which they could start. The result is that of a global event queue at a fraction of its cost, and is the same
// for any visiting order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/graph.h"

namespace flopcast {

/// What a run gives: times since the run's origin, and for each task what held it back.
struct Run {
  std::vector<Time> start;  ///< of each task
  std::vector<Time> end;    ///< of each task
  /// The predecessor whose constraint was binding: the chain from the last task is the critical
  /// path.
  std::vector<TaskId> cause;
  Time makespan;  ///< when the last task ends
};

/// A task in a wait cycle or waiting for one that never comes.
struct StuckTask {
  TaskId task = 0;             ///< which one
  std::int32_t rank = 0;       ///< of its processor
  TaskId waits_for = kNoTask;  ///< kNoTask: for what never comes
};
/// Why a run could not finish: tasks that wait for each other in a circle, first to last to first.
struct Deadlock {
  std::vector<StuckTask> cycle;  ///< first to last, which waits for the first
  std::uint64_t unfinished = 0;  ///< tasks that can never run
};

/// Runs `graph`. No task starts before its `release` time (one per task; empty: 0 for all;
/// Time::min() for tasks that only their predecessors hold back). On a wait cycle: kNoAnswer,
/// naming tasks and ranks; `deadlock` then tells more.
Result<Run> simulate(const Graph& graph, const std::vector<Time>& release = {},
                     const StringTable* names = nullptr, Deadlock* deadlock = nullptr);

/// Where a run takes its times from: columns as GraphTimes has them, which outlive it.
struct TimesInUse {
  const std::vector<Time>* duration;  ///< of each task
  const std::vector<Time>* gap;       ///< before each task
  const std::vector<Time>* edge_lag;  ///< by edge
  const std::vector<Time>* fills;     ///< of each task
  /// All of these.
  TimesInUse(const GraphTimes& times)  // NOLINT(google-explicit-constructor): it is all of them
      : duration(&times.duration),
        gap(&times.gap),
        edge_lag(&times.edge_lag),
        fills(&times.fills) {}
};

/// The same with other times than the graph's own: several runs may share a graph, and columns.
Result<Run> simulate(const Graph& graph, const TimesInUse& times, const std::vector<Time>& release,
                     const StringTable* names = nullptr, Deadlock* deadlock = nullptr);

}  // namespace flopcast
