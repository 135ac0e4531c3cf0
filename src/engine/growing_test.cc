#include "flopcast/engine/growing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "flopcast/engine.h"

namespace flopcast::engine {
namespace {

using Kind = Processor::Kind;

constexpr Time micros(std::int64_t n) { return Time::from_us(n); }

TEST(GrowingRun, RunsTheWorkedExampleCallByCall) {
  GrowingRun run;
  const auto thread = run.add_processor(Kind::kThread, 0, 1);
  const auto stream = run.add_processor(Kind::kStream, 0, 7);
  const auto launch = [&] { return run.add({thread, TaskKind::kLaunch, 0, micros(5)}); };
  const auto kernel = [&](GrowingTask call, Time duration) {
    return run.add({stream, TaskKind::kCompute, 0, duration},
                   {{call, micros(2), EdgeKind::kLaunch, true}});
  };
  const GrowingTask a = kernel(launch(), micros(20));
  EXPECT_EQ(run.start(a), micros(2));
  const GrowingTask b = kernel(launch(), micros(30));
  EXPECT_EQ(run.start(b), micros(22));
  const GrowingTask sync = run.add({thread, TaskKind::kSync, 0, micros(1)},
                                   {{b, micros(0), EdgeKind::kSync, false, true}});
  EXPECT_EQ(run.start(sync), micros(10));
  EXPECT_EQ(run.end(sync), micros(52));
  EXPECT_EQ(run.cause(sync), b);
  run.close(thread);
  EXPECT_EQ(run.unsettled(), 0u);
}

TEST(GrowingRun, ACollectiveStartsWhenTheLastRankHasCome) {
  GrowingRun run;
  const auto hubs = run.add_processor(Kind::kHub, -1, 0);
  const GrowingTask hub = run.add({.processor = hubs, .kind = TaskKind::kRendezvous, .joins = 2});
  std::vector<GrowingTask> transfers;
  for (const int rank : {0, 1}) {
    const auto stream = run.add_processor(Kind::kStream, rank, 7, micros(10 * rank));
    const GrowingTask arrival = run.add({stream, TaskKind::kArrival, 0, micros(0)});
    run.join(hub, {arrival, micros(0), EdgeKind::kRendezvous});
    NewTask transfer{stream, TaskKind::kTransfer, 0};
    transfer.ends_later = true;
    transfers.push_back(run.add(transfer, {{hub, micros(1), EdgeKind::kRendezvous}}));
    EXPECT_EQ(run.take_started().size(), rank == 0 ? 0u : 2u);
  }
  EXPECT_EQ(run.start(transfers[0]), micros(11));
  run.finish(transfers[1], micros(20));
  EXPECT_TRUE(run.settled(transfers[1]));
  EXPECT_FALSE(run.settled(transfers[0]));
  run.finish(transfers[0], micros(21));
  EXPECT_EQ(run.unsettled(), 0u);
}

TEST(GrowingRun, TellsWhatWaitsForARankThatNeverJoins) {
  GrowingRun run;
  const auto hubs = run.add_processor(Kind::kHub, -1, 0);
  const auto stream = run.add_processor(Kind::kStream, 0, 7);
  const auto thread = run.add_processor(Kind::kThread, 0, 1);
  const GrowingTask hub = run.add({.processor = hubs, .kind = TaskKind::kRendezvous, .joins = 2});
  const GrowingTask arrival = run.add({stream, TaskKind::kArrival, 0, micros(0)});
  run.join(hub, {arrival, micros(0), EdgeKind::kRendezvous});
  const GrowingTask transfer = run.add({stream, TaskKind::kTransfer, 0, micros(3)},
                                       {{hub, micros(0), EdgeKind::kRendezvous}});
  const GrowingTask sync = run.add({thread, TaskKind::kSync, 0, micros(1)},
                                   {{transfer, micros(0), EdgeKind::kSync, false, true}});
  const std::vector<GrowingTask> chain = run.stuck();
  EXPECT_EQ(chain.back(), hub);
  EXPECT_FALSE(run.settled(sync));
}

TEST(GrowingRun, TellsACircle) {
  GrowingRun run;
  const auto hubs = run.add_processor(Kind::kHub, -1, 0);
  const GrowingTask a = run.add({.processor = hubs, .joins = 1});
  const GrowingTask b = run.add({.processor = hubs}, {{a, micros(0)}});
  run.join(a, {b, micros(0)});
  EXPECT_EQ(run.stuck().size(), 2u);
}

TEST(GrowingRun, ForgetsWhatNobodyCanAskFor) {
  GrowingRun run;
  const auto thread = run.add_processor(Kind::kThread, 0, 1);
  const auto stream = run.add_processor(Kind::kStream, 0, 7);
  const GrowingTask first = run.add({thread, TaskKind::kOperator, 0, micros(1)});
  run.keep(first);
  std::size_t given = 0, most = 0;
  for (int i = 0; i < 200'000; ++i) {
    const GrowingTask call = run.add({thread, TaskKind::kLaunch, 0, micros(1)});
    run.add({stream, TaskKind::kCompute, 0, micros(1)},
            {{call, micros(1), EdgeKind::kLaunch, true}});
    if (i % 1000 == 999) given += run.take_settled(run.end(call)).size();
    most = std::max(most, run.bytes_held());
  }
  given += run.take_settled(Time::max()).size();
  EXPECT_EQ(given, 400'001u);
  EXPECT_LT(most, std::size_t{4} << 20);
  EXPECT_EQ(run.end(first), micros(1));  // kept
}

// ---- against the engine that knows the whole graph ---------------------------------------------

/// A task of a program, with dependencies on those before it in the list.
struct Planned {
  std::uint32_t processor;
  TaskKind kind;
  Time duration, gap, release;
  std::vector<std::tuple<std::size_t, Time, bool, bool>> after;  ///< as Dependency
};

/// Two threads and two streams a rank, and hubs.
struct Program {
  static constexpr std::uint32_t kRanks = 3, kOfRank = 4, kHubs = kRanks * kOfRank;
  std::vector<Planned> tasks;

  static bool is_thread(std::uint32_t processor) {
    return processor != kHubs && processor % kOfRank < 2;
  }
  static Kind kind_of(std::uint32_t processor) {
    return processor == kHubs ? Kind::kHub : is_thread(processor) ? Kind::kThread : Kind::kStream;
  }
  static std::int32_t rank_of(std::uint32_t processor) {
    return static_cast<std::int32_t>(processor / kOfRank);
  }
};

Program any_program() {
  Program program;
  const auto size = *rc::gen::inRange<std::size_t>(0, 60);
  const auto time = [](int low, int high) { return micros(*rc::gen::inRange(low, high + 1)); };
  for (std::size_t t = 0; t < size; ++t) {
    const auto processor = *rc::gen::inRange<std::uint32_t>(0, Program::kHubs + 1);
    const bool thread = Program::is_thread(processor);
    const bool sync = thread && *rc::gen::inRange(0, 3) == 0;
    Planned task{processor,
                 processor == Program::kHubs ? TaskKind::kRendezvous
                 : sync                      ? TaskKind::kSync
                 : thread                    ? TaskKind::kOperator
                                             : TaskKind::kCompute,
                 processor == Program::kHubs ? Time{} : time(0, 9),
                 time(0, 3),
                 *rc::gen::inRange(0, 5) == 0 ? time(0, 40) : Time::min(),
                 {}};
    for (int n = t == 0 ? 0 : *rc::gen::inRange(0, 3); n > 0; --n) {
      const auto source = *rc::gen::inRange<std::size_t>(0, t);
      const bool twice = std::any_of(task.after.begin(), task.after.end(),
                                     [&](const auto& d) { return std::get<0>(d) == source; });
      if (twice) continue;
      const bool end = sync && Program::kind_of(program.tasks[source].processor) == Kind::kStream;
      task.after.emplace_back(source, time(0, 4), !end && *rc::gen::inRange(0, 2) == 0, end);
    }
    program.tasks.push_back(std::move(task));
  }
  return program;
}

/// The same as a graph, and what each task is called there.
Result<Run> whole(const Program& program, std::vector<TaskId>& ids) {
  GraphBuilder builder;
  std::vector<Time> release;
  ids.assign(program.tasks.size(), kNoTask);
  for (std::uint32_t p = 0; p <= Program::kHubs; ++p) {
    builder.add_processor(Program::kind_of(p), Program::rank_of(p), p);
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      const Planned& task = program.tasks[t];
      if (task.processor != p) continue;
      ids[t] = builder.add_task(task.kind, 0, task.duration, task.gap);
      release.push_back(std::max(task.release, Time{}));
    }
  }
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    std::vector<std::uint32_t> sources;
    std::optional<Time> lag;
    for (const auto& [source, after, from_start, holds_end] : program.tasks[t].after) {
      if (!holds_end) {
        builder.add_edge({ids[source], ids[t], after, EdgeKind::kEvent, from_start});
        continue;
      }
      sources.push_back(ids[source] | kFixedSource);
      lag = lag.value_or(after);  // one lag for all
    }
    if (!sources.empty()) builder.add_wait(ids[t], sources, *lag);
  }
  return simulate(std::move(builder).build(), release);
}

struct Grown {
  GrowingRun run;
  std::vector<std::uint32_t> processors;
  std::vector<GrowingTask> ids;
};

/// Adds the tasks in an order that keeps each after those it follows; everything is kept.
Grown grow(const Program& program, std::mt19937& random, bool ends_later) {
  Grown grown;
  std::vector<std::uint32_t> names(Program::kHubs + 1);
  for (std::uint32_t p = 0; p < names.size(); ++p) names[p] = p;
  std::shuffle(names.begin(), names.end(), random);
  grown.processors.resize(names.size());
  for (const std::uint32_t p : names)
    grown.processors[p] = grown.run.add_processor(Program::kind_of(p), Program::rank_of(p), p);
  grown.ids.assign(program.tasks.size(), kNoGrowingTask);
  const auto can_come = [&](std::size_t t) {
    if (grown.ids[t] != kNoGrowingTask) return false;
    const Planned& task = program.tasks[t];
    for (std::size_t other = 0; other < t; ++other) {
      if (program.tasks[other].processor == task.processor && grown.ids[other] == kNoGrowingTask)
        return false;
    }
    return std::all_of(task.after.begin(), task.after.end(),
                       [&](const auto& d) { return grown.ids[std::get<0>(d)] != kNoGrowingTask; });
  };
  for (std::size_t left = program.tasks.size(); left > 0; --left) {
    std::vector<std::size_t> free;
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      if (can_come(t)) free.push_back(t);
    }
    const std::size_t t = free[random() % free.size()];
    const Planned& task = program.tasks[t];
    std::vector<Dependency> after;
    std::optional<Time> lag;
    for (const auto& [source, own, from_start, holds_end] : task.after) {
      if (holds_end) lag = lag.value_or(own);
      after.push_back(
          {grown.ids[source], holds_end ? *lag : own, EdgeKind::kEvent, from_start, holds_end});
    }
    NewTask made{
        grown.processors[task.processor], task.kind, 0, task.duration, task.gap, task.release};
    made.ends_later = ends_later && Program::kind_of(task.processor) == Kind::kStream;
    made.order = t;  // hubs know no other
    grown.ids[t] = grown.run.add(made, after);
    grown.run.keep(grown.ids[t]);
  }
  return grown;
}

void check_same(const Program& program, const Run& expected, const std::vector<TaskId>& ids,
                Grown& grown) {
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    RC_ASSERT(grown.run.settled(grown.ids[t]));
    RC_ASSERT(grown.run.start(grown.ids[t]) == expected.start[ids[t]]);
    RC_ASSERT(grown.run.end(grown.ids[t]) == expected.end[ids[t]]);
  }
  const std::vector<SettledTask> given = grown.run.take_settled(Time::max());
  RC_ASSERT(given.size() == program.tasks.size());
  RC_ASSERT(std::is_sorted(given.begin(), given.end(),
                           [](const auto& a, const auto& b) { return a.start < b.start; }));
}

RC_GTEST_PROP(GrowingRunProperty, TimesAreThoseOfTheWholeGraph, ()) {
  const Program program = any_program();
  std::vector<TaskId> ids;
  const Result<Run> expected = whole(program, ids);
  RC_ASSERT(expected.ok());
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  Grown grown = grow(program, random, false);
  check_same(program, *expected, ids, grown);
}

RC_GTEST_PROP(GrowingRunProperty, SoAreThoseOfTasksWhoseEndIsToldLater, ()) {
  const Program program = any_program();
  std::vector<TaskId> ids;
  const Result<Run> expected = whole(program, ids);
  RC_ASSERT(expected.ok());
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  Grown grown = grow(program, random, true);
  std::vector<GrowingTask> started;
  while (true) {
    for (const GrowingTask task : grown.run.take_started()) started.push_back(task);
    if (started.empty()) break;
    std::swap(started[random() % started.size()], started.back());
    const GrowingTask task = started.back();
    started.pop_back();
    const auto t = std::find(grown.ids.begin(), grown.ids.end(), task) - grown.ids.begin();
    grown.run.finish(task,
                     grown.run.start(task) + program.tasks[static_cast<std::size_t>(t)].duration);
  }
  check_same(program, *expected, ids, grown);
}

RC_GTEST_PROP(GrowingRunProperty, WhoComesFirstDoesNotShow, ()) {
  const Program program = any_program();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  Grown one = grow(program, random, false), other = grow(program, random, false);
  const auto causes = [&](Grown& grown) {
    std::map<GrowingTask, std::size_t> planned;
    for (std::size_t t = 0; t < grown.ids.size(); ++t) planned[grown.ids[t]] = t;
    // Hubs keep no order: which of two is first is whose number is lower.
    std::vector<std::tuple<Time, std::size_t, std::size_t>> all;
    for (const SettledTask& task : grown.run.take_settled(Time::max())) {
      const auto cause = planned.find(task.cause);
      all.emplace_back(task.start, planned[task.task],
                       cause == planned.end() ? grown.ids.size() : cause->second);
    }
    return all;
  };
  RC_ASSERT(causes(one) == causes(other));
}

}  // namespace
}  // namespace flopcast::engine
