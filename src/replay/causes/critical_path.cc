#include "replay/causes/critical_path.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace flopcast::replaying {
namespace {

class PathFinder {
 public:
  PathFinder(const Assembly& assembly, const Run& run)
      : map_(assembly.map), g_(assembly.graph), run_(run), seen_(g_.task_count(), false) {}

  CriticalPath find() {
    if (g_.task_count() == 0) return std::move(path_);
    TaskId task = 0;
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      if (run_.end[t] > run_.end[task]) task = t;
    }
    path_.last_trace = map_.task_rank[task];
    path_.window_start = window_start(path_.last_trace);
    Time until = run_.end[task];
    while (task != kNoTask) {
      const TaskId root = follow(task, until);
      if (until <= path_.window_start) break;
      task = last_ended(root, until);
      const Time from = task == kNoTask ? path_.window_start : run_.end[task];
      path_.pieces.push_back(
          {map_.task_rank[root], kNoDetail, g_.kind[root], std::min(from, until), until, true});
      until = std::min(from, until);
    }
    std::reverse(path_.pieces.begin(), path_.pieces.end());
    return std::move(path_);
  }

 private:
  Time window_start(std::uint32_t rank) const {
    Time first = Time::max();
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      if (map_.task_rank[t] == rank && g_.kind[t] != TaskKind::kRendezvous)
        first = std::min(first, run_.start[t]);
    }
    return first;
  }

  /// Adds the pieces from `task`, which matters until `until`, back to one that nothing holds, or
  /// that what is on the path already holds.
  TaskId follow(TaskId task, Time& until) {
    while (true) {
      seen_[task] = true;
      const TaskId cause = run_.cause[task];
      Time from = run_.start[task];
      // A sync held by GPU work is critical only after that work's end.
      const bool waited =
          cause != kNoTask && g_.kind[task] == TaskKind::kSync && run_.end[cause] > from;
      if (waited) from = run_.end[cause];
      // A copy from pageable memory returns before its last piece arrives.
      from = std::min(from, until);
      add(task, map_.task_row[task], from, until);
      until = from;
      if (cause == kNoTask || seen_[cause]) return task;
      // An edge from a start (a launch) leaves the cause before its end; so does a sync, or a task
      // that starts before the one ahead of it on its stream has ended.
      const bool next_in_order = cause + 1 == task && g_.processor[cause] == g_.processor[task];
      Time since = std::min(run_.end[cause], from);
      if (run_.end[cause] > from && !waited && !next_in_order)
        since = std::min(run_.start[cause], from);
      add(task, kNoDetail, since, from);
      until = since;
      task = cause;
    }
  }

  void add(TaskId task, std::uint32_t row, Time from, Time until) {
    if (until <= from || g_.kind[task] == TaskKind::kRendezvous) return;
    path_.pieces.push_back({map_.task_rank[task], row, g_.kind[task], from, until, false});
  }

  /// What ended last before a task that nothing holds: on its rank, or else on the one that ends
  /// last. Each task is given once, so that a path of tasks without length ends.
  TaskId last_ended(TaskId root, Time before) {
    const TaskId own = last_ended_on(map_.task_rank[root], before);
    return own != kNoTask ? own : last_ended_on(path_.last_trace, before);
  }
  TaskId last_ended_on(std::uint32_t rank, Time before) {
    by_end_.resize(map_.ranks.size());
    if (!by_end_[rank]) by_end_[rank] = ordered_by_end(rank);
    std::vector<TaskId>& tasks = *by_end_[rank];
    while (!tasks.empty() && (run_.end[tasks.back()] > before || seen_[tasks.back()])) {
      tasks.pop_back();
    }
    return tasks.empty() ? kNoTask : tasks.back();
  }
  std::vector<TaskId> ordered_by_end(std::uint32_t rank) const {
    std::vector<TaskId> tasks;
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      if (map_.task_rank[t] == rank && g_.kind[t] != TaskKind::kRendezvous) tasks.push_back(t);
    }
    std::sort(tasks.begin(), tasks.end(), [&](TaskId a, TaskId b) {
      return std::tuple(run_.end[a], a) < std::tuple(run_.end[b], b);
    });
    return tasks;
  }

  const TaskMap& map_;
  const Graph& g_;
  const Run& run_;
  CriticalPath path_;
  std::vector<bool> seen_;  // per task: on the path
  /// Per rank that was asked for: those that are left.
  std::vector<std::optional<std::vector<TaskId>>> by_end_;
};

}  // namespace

CriticalPath critical_path(const Assembly& assembly, const Run& run) {
  return PathFinder(assembly, run).find();
}

}  // namespace flopcast::replaying
