// Floor 4: runs an execution graph that is still being made, as in a live run: a host thread says what
// it does next only when it knows how its last wait ended.
//
// Tasks are settled as soon as what holds them back is: their times are maxima over a fixed set of
// terms, so they do not depend on the order in which threads happened to say what they do. What a
// graph cannot know is given by its owner:
//   a task that `ends_later` (a transfer that shares links) ends when finish() says so
//   a task with `joins` (the hub of a collective) has so many dependencies that come later
//
// Worked example (growing_test repeats it): the program of graph.h, said call by call.
//   GrowingRun run;
//   const auto thread = run.add_processor(Processor::Kind::kThread, 0, 1);
//   const auto stream = run.add_processor(Processor::Kind::kStream, 0, 7);
//   const GrowingTask launch = run.add({thread, TaskKind::kLaunch, 0, us(5)});
//   const GrowingTask a = run.add({stream, TaskKind::kCompute, 0, us(20)},
//                                 {{launch, us(2), EdgeKind::kLaunch, /*from_start=*/true}});
//   run.start(a) == us(2); run.end(a) == us(22)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/graph.h"

namespace flopcast {

using GrowingTask = std::uint64_t;  ///< number of a task in its run, from 0 in the order of add()
inline constexpr GrowingTask kNoGrowingTask = ~GrowingTask{0};  ///< no task

/// What holds a task back. The source is not settled, or the last of its processor, or kept.
struct Dependency {
  GrowingTask source = 0;             ///< what must have ended (or started)
  Time lag;                           ///< time between the two
  EdgeKind kind = EdgeKind::kLaunch;  ///< where it comes from
  bool from_start = false;            ///< counts from the source's start instead of its end
  bool holds_end = false;             ///< holds back the end, not the start: a call that waits
};

/// A task as its owner knows it.
struct NewTask {
  std::uint32_t processor = 0;          ///< at whose end it goes
  TaskKind kind = TaskKind::kOperator;  ///< what it stands for
  std::uint32_t name = 0;               ///< string id
  Time duration = {};                   ///< the least, where something holds its end
  Time gap = {};                        ///< from the end of the task before it on its processor
  Time release = Time::min();           ///< no start before this
  std::uint32_t joins = 0;              ///< dependencies that join() adds later
  bool ends_later = false;              ///< finish() tells its end
  std::uint64_t order = 0;              ///< on a hub: among tasks of equal times
  std::uint32_t note = 0;               ///< the owner's own: given back with the settled task
};

/// A task whose times are final.
struct SettledTask {
  GrowingTask task = 0;                 ///< which
  std::uint32_t processor = 0;          ///< where
  TaskKind kind = TaskKind::kOperator;  ///< of it
  std::uint32_t name = 0;               ///< string id
  std::uint32_t note = 0;               ///< as in NewTask
  Time start, end;                      ///< since the run's origin
  GrowingTask cause = kNoGrowingTask;   ///< whose constraint was binding
};

/// Not for several threads at once.
class GrowingRun {
 public:
  GrowingRun();
  GrowingRun(GrowingRun&&) noexcept;
  GrowingRun& operator=(GrowingRun&&) noexcept;
  ~GrowingRun();

  /// Adds a processor. No two have the same kind, rank and id: those order tasks of equal times.
  /// Tasks of hubs keep no order. @param from nothing on it starts before
  std::uint32_t add_processor(Processor::Kind kind, std::int32_t rank, std::int64_t id,
                              Time from = {});
  /// Nothing more is added to it.
  void close(std::uint32_t processor);

  /// Adds a task at the end of its processor and settles what that makes known.
  GrowingTask add(const NewTask& task, std::span<const Dependency> after = {});
  /// the same, of a list
  GrowingTask add(const NewTask& task, std::initializer_list<Dependency> after) {
    return add(task, std::span(after.begin(), after.size()));
  }
  /// One of the dependencies that `joins` promised.
  void join(GrowingTask target, const Dependency& dependency);
  /// Tasks that end later and whose start is known since the last call, by start.
  std::vector<GrowingTask> take_started();
  /// Ends one of those. @pre end >= its start
  void finish(GrowingTask task, Time end);

  bool settled(GrowingTask task) const;       ///< its times are final
  Time start(GrowingTask task) const;         ///< @pre its start is known
  Time end(GrowingTask task) const;           ///< @pre settled
  GrowingTask cause(GrowingTask task) const;  ///< @pre settled; among equals the first in order

  /// The task may be the source of later dependencies though others follow it (an event's).
  void keep(GrowingTask task);
  /// Takes back one keep().
  void let_go(GrowingTask task);

  /// Settled tasks that start before `before` and before any whose start is known and whose end is not, and
  /// were not given yet (Time::max(): all), by start, then rank, kind and id of their processor. What is neither kept nor the last of its processor is forgotten. In order over
  /// all calls if `before` is never later than where a task that is added from now on, or the end of one that ends later, may lie.
  std::vector<SettledTask> take_settled(Time before);

  /// Tasks not settled yet.
  std::size_t unsettled() const;
  /// From a task that is not settled to one that holds it back, and so on: until a task that
  /// nothing in the run holds back (a hub nobody joins), or the circle is closed. Empty if all is settled.
  std::vector<GrowingTask> stuck() const;
  const Processor& processor(std::uint32_t index) const;  ///< kind, rank and id
  std::uint32_t name(GrowingTask task) const;             ///< string id
  std::size_t bytes_held() const;                         ///< memory of tasks and dependencies

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
