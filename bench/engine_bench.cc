// Speed and memory of the engine on a made-up run of 512 ranks, beside a plain event simulator: one
// priority queue holds every task whose predecessors have ended, and the earliest is run next.
//
// A rank has two host threads and three streams. Thread 0 computes, launches on streams 0 and 1 and
// waits now and then; thread 1 launches on stream 2, which joins a collective of 8 ranks every 200
// tasks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "flopcast/engine.h"

namespace flopcast {
namespace {

constexpr std::uint32_t kRanks = 512;
constexpr std::uint32_t kGroup = 8;

/// One rank's tasks, processor by processor, numbered within each.
struct Program {
  enum : std::uint8_t { kThread0, kThread1, kStream0, kStream1, kStream2, kProcessors };
  struct Task {
    TaskKind kind = TaskKind::kOperator;
    Time duration, gap;
    std::int32_t launcher = -1;  ///< place on its thread
    std::uint8_t launcher_thread = 0;
    std::int32_t event_from = -1;  ///< place on the stream before this one, or -1
    std::uint8_t event_stream = 0;
    std::int32_t waits_for = -1;  ///< streams 0 .. this; fixed: place on stream 0
    bool waits_fixed = false;
    std::int32_t collective = -1;
  };
  std::vector<Task> tasks[kProcessors];
};

class Maker {
 public:
  Maker(std::uint32_t rank, std::size_t tasks) : random_(rank * 7919 + 1) {
    std::size_t done = 0;
    std::int32_t collectives = 0;
    for (std::size_t block = 0; done < tasks; ++block) {
      done = 0;
      for (int i = 0; i < 38; ++i) step(i);
      collective(collectives++);
      if (block % 4 == 3) sync(block);
      for (const auto& list : program_.tasks) done += list.size();
    }
  }
  Program take() { return std::move(program_); }

 private:
  Time draw(int low_ns, int high_ns) {
    return Time::from_ns(low_ns +
                         static_cast<int>(random_() % static_cast<unsigned>(high_ns - low_ns)));
  }
  Program::Task& add(int processor, TaskKind kind, Time duration, Time gap) {
    Program::Task task;
    task.kind = kind;
    task.duration = duration;
    task.gap = gap;
    program_.tasks[processor].push_back(task);
    return program_.tasks[processor].back();
  }
  std::int32_t last(int processor) const {
    return static_cast<std::int32_t>(program_.tasks[processor].size()) - 1;
  }
  void launch(int thread, int stream, TaskKind kind, Time duration) {
    add(thread, TaskKind::kLaunch, draw(3000, 6000), draw(200, 900));
    Program::Task& task = add(stream, kind, duration, Time::from_ns(1000));
    task.launcher = last(thread);
    task.launcher_thread = static_cast<std::uint8_t>(thread);
  }

  void step(int i) {
    add(Program::kThread0, TaskKind::kOperator, draw(500, 4000), draw(0, 500));
    const int stream = i % 6 == 5 ? Program::kStream1 : Program::kStream0;
    launch(Program::kThread0, stream, TaskKind::kCompute, draw(2000, 14000));
    const int other = stream == Program::kStream0 ? Program::kStream1 : Program::kStream0;
    if (i == 5 && transfer_ >= 0) {  // the next block needs what this one's collective brought
      program_.tasks[stream].back().event_from = transfer_;
      program_.tasks[stream].back().event_stream = Program::kStream2;
    } else if (i % 6 >= 4 && last(other) >= 0) {
      program_.tasks[stream].back().event_from = last(other);
      program_.tasks[stream].back().event_stream = static_cast<std::uint8_t>(other);
    }
    if (i % 2 == 0) add(Program::kThread1, TaskKind::kOperator, draw(2000, 9000), draw(0, 500));
    if (i % 3 == 0) launch(Program::kThread1, Program::kStream2, TaskKind::kCopy, draw(1000, 9000));
  }
  void collective(std::int32_t number) {
    launch(Program::kThread1, Program::kStream2, TaskKind::kArrival, Time{});
    program_.tasks[Program::kStream2].back().event_from = last(Program::kStream0);
    program_.tasks[Program::kStream2].back().event_stream = Program::kStream0;
    add(Program::kStream2, TaskKind::kTransfer, draw(20000, 60000), Time{}).collective = number;
    Program::Task& after = program_.tasks[Program::kStream2].back();
    after.launcher = last(Program::kThread1);
    after.launcher_thread = Program::kThread1;
    transfer_ = last(Program::kStream2);
  }
  void sync(std::size_t block) {
    Program::Task& task = add(Program::kThread0, TaskKind::kSync, Time::from_ns(2000), Time{});
    task.waits_fixed = block % 12 == 3;
    task.waits_for =
        task.waits_fixed ? last(Program::kStream0) : static_cast<std::int32_t>(block % 2);
  }

  Program program_;
  std::mt19937 random_;
  std::int32_t transfer_ = -1;  // place of the last collective's on stream 2
};

Graph make_graph(std::size_t tasks, std::uint32_t ranks) {
  GraphBuilder b;
  b.reserve(tasks + tasks / 50, tasks);
  std::vector<std::vector<std::pair<TaskId, TaskId>>> members;  // [group * collectives][..]
  std::vector<std::vector<std::pair<TaskId, TaskId>>> of_rank(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const Program program = Maker(r, tasks / ranks).take();
    std::uint32_t processor[Program::kProcessors];
    TaskId first[Program::kProcessors];
    for (int p = 0; p < Program::kProcessors; ++p) {
      const auto kind = p < Program::kStream0 ? Processor::Kind::kThread : Processor::Kind::kStream;
      processor[p] = b.add_processor(kind, static_cast<std::int32_t>(r), p);
      first[p] = static_cast<TaskId>(b.task_count());
      for (const Program::Task& t : program.tasks[p]) b.add_task(t.kind, 0, t.duration, t.gap);
    }
    for (int p = 0; p < Program::kProcessors; ++p) {
      for (std::size_t i = 0; i < program.tasks[p].size(); ++i) {
        const Program::Task& t = program.tasks[p][i];
        const TaskId id = first[p] + static_cast<TaskId>(i);
        if (t.launcher >= 0) {
          const TaskId call = first[t.launcher_thread] + static_cast<TaskId>(t.launcher);
          b.set_launcher(id, call);
          if (t.kind != TaskKind::kTransfer)
            b.add_edge({call, id, Time::from_ns(5000), EdgeKind::kLaunch, true});
        }
        if (t.event_from >= 0) {
          b.add_edge({first[t.event_stream] + static_cast<TaskId>(t.event_from), id,
                      Time::from_ns(1500), EdgeKind::kEvent, false});
        }
        if (t.collective >= 0) of_rank[r].push_back({id - 1, id});
        if (t.kind == TaskKind::kSync) {
          std::vector<std::uint32_t> sources;
          if (t.waits_fixed) {
            sources.push_back((first[Program::kStream0] + static_cast<TaskId>(t.waits_for)) |
                              kFixedSource);
          } else {
            for (std::int32_t s = 0; s <= t.waits_for; ++s)
              sources.push_back(processor[Program::kStream0 + s]);
          }
          b.add_wait(id, sources, Time::from_ns(3000));
        }
      }
    }
  }
  b.add_processor(Processor::Kind::kHub, -1, 0);
  for (std::uint32_t group = 0; group + kGroup <= ranks; group += kGroup) {
    std::size_t count = of_rank[group].size();
    for (std::uint32_t r = group; r < group + kGroup; ++r)
      count = std::min(count, of_rank[r].size());
    for (std::size_t c = 0; c < count; ++c) {
      const TaskId hub = b.add_task(TaskKind::kRendezvous, 0, Time{}, Time{});
      for (std::uint32_t r = group; r < group + kGroup; ++r) {
        b.add_edge({of_rank[r][c].first, hub, Time{}, EdgeKind::kRendezvous, false});
        b.add_edge({hub, of_rank[r][c].second, Time{}, EdgeKind::kRendezvous, false});
      }
    }
  }
  return std::move(b).build();
}

/// The plain way: every task goes through one priority queue in time order.
class PlainSimulator {
 public:
  explicit PlainSimulator(const Graph& g)
      : g_(g),
        start_(g.task_count()),
        end_(g.task_count(), Time::min()),
        pending_(g.pending),
        next_put_(g.processors.size()),
        wait_of_(g.task_count(), kNoTask),
        waiters_(g.task_count()),
        open_(g.waits.size()) {
    for (std::size_t p = 0; p < g.processors.size(); ++p) next_put_[p] = g.processors[p].first;
    for (std::uint32_t w = 0; w < g.waits.size(); ++w) wait_of_[g.waits[w].task] = w;
  }

  Time run() {
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      if (pending_[t] == 0) queue_.push({start_[t], t});
    }
    Time last;
    while (!queue_.empty()) {
      const TaskId t = queue_.top().second;
      queue_.pop();
      begin(t);
    }
    for (const Time end : end_) last = std::max(last, end);
    return last;
  }

 private:
  void begin(TaskId t) {
    const std::uint32_t w = wait_of_[t];
    if (w == kNoTask) return finish(t, start_[t] + g_.duration[t]);
    const RuntimeWait& wait = g_.waits[w];
    Time at = start_[t] + g_.duration[t];
    for (std::uint32_t s = wait.first_source; s < wait.last_source; ++s) {
      const std::uint32_t source = g_.wait_sources[s];
      const TaskId last =
          (source & kFixedSource) != 0 ? source & ~kFixedSource : last_put(source, start_[t]);
      if (last == kNoTask) continue;
      if (end_[last] != Time::min()) {
        at = std::max(at, end_[last] + wait.lag);
      } else {
        waiters_[last].push_back(w);
        ++open_[w];
      }
    }
    if (open_[w] == 0) return finish(t, at);
    start_[t] = std::max(start_[t], at - g_.duration[t]);
  }
  TaskId last_put(std::uint32_t stream, Time now) {
    const Processor& p = g_.processors[stream];
    TaskId& next = next_put_[stream];
    while (next < p.last && end_[g_.launcher[next]] != Time::min() &&
           start_[g_.launcher[next]] <= now)
      ++next;
    return next == p.first ? kNoTask : next - 1;
  }
  void finish(TaskId t, Time end) {
    end_[t] = end;
    const Processor& p = g_.processors[g_.processor[t]];
    if (p.kind != Processor::Kind::kHub && t + 1 < p.last) relax(t + 1, end + g_.gap[t + 1]);
    for (std::uint32_t e = g_.edge_begin[t]; e < g_.edge_begin[t + 1]; ++e) {
      relax(g_.edge_target[e], (g_.edge_from_start(e) ? start_[t] : end) + g_.edge_lag[e]);
    }
    for (const std::uint32_t w : waiters_[t]) {
      const TaskId waiter = g_.waits[w].task;
      start_[waiter] = std::max(start_[waiter], end + g_.waits[w].lag - g_.duration[waiter]);
      if (--open_[w] == 0) finish(waiter, start_[waiter] + g_.duration[waiter]);
    }
  }
  void relax(TaskId t, Time at) {
    start_[t] = std::max(start_[t], at);
    if (--pending_[t] == 0) queue_.push({start_[t], t});
  }

  const Graph& g_;
  std::vector<Time> start_, end_;
  std::vector<std::uint32_t> pending_;
  std::vector<TaskId> next_put_;
  std::vector<std::uint32_t> wait_of_;
  std::vector<std::vector<std::uint32_t>> waiters_;
  std::vector<std::uint32_t> open_;
  std::priority_queue<std::pair<Time, TaskId>, std::vector<std::pair<Time, TaskId>>, std::greater<>>
      queue_;
};

template <typename T>
double bytes_of(const std::vector<T>& v) {
  return static_cast<double>(v.size() * sizeof(T));
}
double graph_bytes(const Graph& g) {
  return bytes_of(g.duration) + bytes_of(g.gap) + bytes_of(g.processor) + bytes_of(g.name) +
         bytes_of(g.kind) + bytes_of(g.launcher) + bytes_of(g.pending) + bytes_of(g.edge_begin) +
         bytes_of(g.edge_target) + bytes_of(g.edge_lag) + bytes_of(g.edge_info) +
         bytes_of(g.waits) + bytes_of(g.wait_sources);
}
double run_bytes(const Run& run) {
  return bytes_of(run.start) + bytes_of(run.end) + bytes_of(run.cause);
}

/// FLOPCAST_BENCH_TASKS: another size (a profiler slows everything).
std::size_t task_count() {
  const char* named = std::getenv("FLOPCAST_BENCH_TASKS");
  return named != nullptr ? static_cast<std::size_t>(std::atoll(named)) : 10'000'000;
}
const Graph& graph() {
  static const Graph made = make_graph(task_count(), kRanks);
  return made;
}

void engine(benchmark::State& state) {
  const Graph& g = graph();
  double bytes = graph_bytes(g);
  for (auto _ : state) {
    auto run = simulate(g);
    if (!run) {
      state.SkipWithError(run.error().text().c_str());
      return;
    }
    state.PauseTiming();
    bytes = graph_bytes(g) + run_bytes(*run);
    state.counters["makespan_s"] = run->makespan.seconds();
    state.ResumeTiming();
  }
  const auto tasks = static_cast<double>(g.task_count());
  state.counters["tasks_per_s"] =
      benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_task"] = bytes / tasks;
  state.counters["edges_per_task"] = static_cast<double>(g.edge_count()) / tasks;
  state.counters["waits"] = static_cast<double>(g.waits.size());
}
BENCHMARK(engine)->Unit(benchmark::kMillisecond)->MinTime(3);

// Both turn by turn, so that a busy machine slows both.
void ratio_to_priority_queue(benchmark::State& state) {
  const Graph& g = graph();
  double ours = 0, plain = 0;
  Time our_end, plain_end;
  const auto seconds = [](auto run) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (auto _ : state) {
    ours += seconds([&] { our_end = simulate(g)->makespan; });
    plain += seconds([&] { plain_end = PlainSimulator(g).run(); });
  }
  if (our_end != plain_end) state.SkipWithError("the two simulators disagree");
  state.counters["plain_time_over_ours"] = plain / ours;
}
BENCHMARK(ratio_to_priority_queue)->Unit(benchmark::kMillisecond)->Iterations(2);

}  // namespace
}  // namespace flopcast
