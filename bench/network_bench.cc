// Speed and memory of the flow simulator on a two-level non-blocking fat tree of 50 GB/s links.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

#include "flopcast/network/flows.h"
#include "flow_sets.h"

namespace flopcast {
namespace {

using bench::FlowSet;

void run(benchmark::State& state, const FlowSet& set) {
  FlowSimulator::Work work;
  for (auto _ : state) {
    FlowSimulator simulator(set.capacities);
    bench::run_set(simulator, set, Time::max().ps);
    state.PauseTiming();
    work = simulator.work();
    state.ResumeTiming();
  }
  const auto per_solve = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(work.solves);
  };
  state.counters["completions_per_s"] = benchmark::Counter(
      static_cast<double>(set.size()), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["events"] = static_cast<double>(work.events);
  state.counters["flows_solved"] = per_solve(work.flows_solved);
  state.counters["rate_changes"] = per_solve(work.rate_changes);
  state.counters["MB_held"] = static_cast<double>(work.bytes_held) / 1e6;
}

void ring(benchmark::State& state) {
  run(state, bench::ring(static_cast<std::uint32_t>(state.range(0)),
                         static_cast<std::uint32_t>(state.range(1)), state.range(2)));
}
BENCHMARK(ring)
    ->ArgNames({"ranks", "steps", "jitter_ps"})
    ->Args({1024, 64, 0})
    ->Args({1024, 64, 10'000'000})
    ->Args({8192, 16, 0})
    ->Args({8192, 16, 10'000'000})
    ->Unit(benchmark::kMillisecond);

void random_pairs(benchmark::State& state) {
  run(state, bench::random_pairs(static_cast<std::uint32_t>(state.range(0)),
                                 static_cast<std::uint32_t>(state.range(1)),
                                 static_cast<double>(state.range(2)) / 100));
}
BENCHMARK(random_pairs)
    ->ArgNames({"hosts", "flows", "load_percent"})
    ->Args({1024, 10'000, 30})
    ->Args({1024, 10'000, 60})
    ->Args({8192, 100'000, 30})
    ->Unit(benchmark::kMillisecond);

void permutation(benchmark::State& state) {
  run(state, bench::permutations(static_cast<std::uint32_t>(state.range(0)), 4));
}
BENCHMARK(permutation)->ArgName("hosts")->Arg(1024)->Unit(benchmark::kMillisecond);

void all_to_all(benchmark::State& state) {
  run(state, bench::all_to_all(static_cast<std::uint32_t>(state.range(0)), 1'000'000'000));
}
BENCHMARK(all_to_all)->ArgName("hosts")->Arg(128)->Unit(benchmark::kMillisecond);

void all_to_all_classes(benchmark::State& state) {
  const FlowSet set = bench::all_to_all(static_cast<std::uint32_t>(state.range(0)), 0);
  FlowClasses classes;
  for (auto _ : state) classes = solve_classes(set.capacities, set.path_begin, set.links);
  state.counters["flows"] = static_cast<double>(set.size());
  state.counters["classes"] = static_cast<double>(classes.class_rate.size());
}
BENCHMARK(all_to_all_classes)->ArgName("hosts")->Arg(1024)->Unit(benchmark::kMillisecond);

/// When each flow of a set is submitted: a tenth of them late, by about `lag` events.
struct Arrivals {
  std::vector<std::uint32_t> order;          ///< flows by time of submission
  std::vector<std::int64_t> time;            ///< of their submission
  std::vector<std::int64_t> earliest_start;  ///< of those not submitted yet
};

Arrivals late_arrivals(const FlowSet& set, const std::vector<std::int64_t>& events,
                       std::uint32_t lag) {
  std::mt19937_64 random(5);
  std::vector<std::int64_t> arrival = set.start_ps;
  for (std::int64_t& time : arrival) {
    if (lag == 0 || random() % 10 != 0) continue;
    const auto now = std::lower_bound(events.begin(), events.end(), time) - events.begin();
    const std::size_t late = static_cast<std::size_t>(now) + 1 + random() % (2 * lag);
    time = events[std::min(late, events.size() - 1)];
  }
  Arrivals arrivals;
  arrivals.order.resize(set.size());
  std::iota(arrivals.order.begin(), arrivals.order.end(), 0U);
  std::stable_sort(arrivals.order.begin(), arrivals.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return arrival[a] < arrival[b]; });
  for (const std::uint32_t flow : arrivals.order) arrivals.time.push_back(arrival[flow]);
  arrivals.earliest_start.assign(set.size() + 1, Time::max().ps);
  for (std::size_t i = set.size(); i > 0; --i) {
    arrivals.earliest_start[i - 1] =
        std::min(arrivals.earliest_start[i], set.start_ps[arrivals.order[i - 1]]);
  }
  return arrivals;
}

/// @return seconds of CPU.
double run_arrivals(FlowSimulator& simulator, const FlowSet& set, const Arrivals& arrivals) {
  bench::Submitter submit(simulator, set);
  const std::clock_t begin = std::clock();
  for (std::size_t i = 0; i < set.size(); ++i) {
    simulator.advance({arrivals.time[i]});
    // Flow ids are in order of submission.
    if (simulator.now().ps == arrivals.time[i]) submit(arrivals.order[i]);
    if (i % 64 == 0) simulator.set_horizon({arrivals.earliest_start[i + 1]});
  }
  simulator.advance();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Starts and completions of a set, in order.
std::vector<std::int64_t> event_times(const FlowSet& set) {
  FlowSimulator simulator(set.capacities);
  bench::run_set(simulator, set, Time::max().ps);
  std::vector<std::int64_t> times = set.start_ps;
  for (const CompletionChange& change : simulator.take_changes()) times.push_back(change.after.ps);
  std::sort(times.begin(), times.end());
  return times;
}

void rollback(benchmark::State& state) {
  const FlowSet set = bench::random_pairs(1024, 10'000, static_cast<double>(state.range(0)) / 100);
  const std::vector<std::int64_t> events = event_times(set);
  const Arrivals in_order = late_arrivals(set, events, 0);
  const Arrivals late = late_arrivals(set, events, static_cast<std::uint32_t>(state.range(1)));
  FlowSimulator::Options options;
  options.repair = state.range(2) != 0;
  double plain = 0, rolled = 0;
  FlowSimulator::Work work;
  for (auto _ : state) {
    // Turn by turn, so that a busy machine slows both.
    FlowSimulator a(set.capacities, options), b(set.capacities, options);
    plain += run_arrivals(a, set, in_order);
    rolled += run_arrivals(b, set, late);
    work = b.work();
    if (a.now() != b.now()) state.SkipWithError("late arrivals changed the result");
  }
  state.counters["slowdown"] = rolled / plain;
  state.counters["rollbacks"] = static_cast<double>(work.rollbacks);
  state.counters["undone"] = static_cast<double>(work.events_undone);
  state.counters["repairs"] = static_cast<double>(work.repairs);
  state.counters["flows_repaired"] = static_cast<double>(work.flows_repaired);
  state.counters["MB_held"] = static_cast<double>(work.bytes_held) / 1e6;
}
BENCHMARK(rollback)
    ->ArgNames({"load_percent", "lag_events", "repair"})
    ->ArgsProduct({{30}, {10, 100, 1000}, {0, 1}})
    ->ArgsProduct({{60}, {100, 1000}, {1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
