// Speed of plan searches in full mode, all in one process. A plan counts when it was judged: shown
// not to fit, shown by a bound to be worse, or timed (flopcast/analytic/search.h); placed plans count every
// placement of a plan. `search_405b` is the search for Llama 3.1 405B on 16,384 H100s.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "analytic/search/space.h"
#include "flopcast/analytic/search.h"

namespace flopcast {
namespace {

struct Question {
  const char* model;
  const char* cluster;
  std::int64_t global_batch, sequence;
};
constexpr Question kLargest{"llama-3.1-405b", "2048 x dgx-h100", 2048, 8192};

const TrainingModel& training(const Question& question) {
  static std::map<std::string, TrainingModel> known;
  const std::string name = std::string(question.model) + question.cluster;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  auto made =
      TrainingModel::make(*load_model(question.model),
                          *Catalog::builtin().cluster(question.cluster), Catalog::builtin());
  return known.emplace(name, std::move(*made)).first->second;
}

PlanSearchOptions options_of(const Question& question, unsigned threads) {
  PlanSearchOptions options;
  options.global_batch = question.global_batch;
  options.sequence = question.sequence;
  options.threads = threads;
  return options;
}

PlanSearch search(const Question& question, unsigned threads) {
  return *search_plans(training(question), options_of(question, threads));
}

/// Of the clock on the wall, and of all cores together.
struct Spent {
  double wall_s = 0, cpu_s = 0;
};

Spent search_timed(const Question& question, unsigned threads) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  benchmark::DoNotOptimize(search(question, threads));
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

/// Choices of all axes, possible or not: what the rules refuse is the rest.
std::uint64_t choices(const Question& question) {
  const TrainingModel& model = training(question);
  const PlanSearchOptions options = options_of(question, 1);
  return analytic::search::Space(model.model(), options, *analytic::search::plan_rules(options),
                                 model.cluster().chips())
      .choices();
}

void report(benchmark::State& state, const Question& question, unsigned threads) {
  training(question);  // made before the clock starts
  PlanSearch found;
  double plans = 0, placed = 0;
  const std::clock_t begin = std::clock();
  for (auto _ : state) {
    found = search(question, threads);
    plans += static_cast<double>(found.plans);
    placed += static_cast<double>(found.placed);
  }
  // Seconds of a core that worked: what else the machine does takes nothing off.
  const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  state.counters["plans_per_core_s"] = plans / cpu_s;
  state.counters["placed_per_core_s"] = placed / cpu_s;
  state.counters["1_choices"] = static_cast<double>(choices(question));
  state.counters["2_plans"] = static_cast<double>(found.plans);
  state.counters["3_placed"] = static_cast<double>(found.placed);
  state.counters["4_too_big"] = static_cast<double>(found.too_big);
  state.counters["5_bounded"] = static_cast<double>(found.bounded);
  state.counters["6_timed"] = static_cast<double>(found.timed);
}

void search_405b(benchmark::State& state) {
  report(state, kLargest, static_cast<unsigned>(state.range(0)));
}
BENCHMARK(search_405b)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kSecond);

// Turn by turn, so that a busy machine slows both; the quickest of each, so that it slows neither.
void search_405b_speedup(benchmark::State& state) {
  Spent one{1e300, 1e300}, two = one;
  const auto keep_least = [](Spent& least, const Spent& spent) {
    least.wall_s = std::min(least.wall_s, spent.wall_s);
    least.cpu_s = std::min(least.cpu_s, spent.cpu_s);
  };
  for (auto _ : state) {
    keep_least(one, search_timed(kLargest, 1));
    keep_least(two, search_timed(kLargest, 2));
  }
  state.counters["one_core_over_two"] = one.wall_s / two.wall_s;
  state.counters["work_of_two_over_one"] = two.cpu_s / one.cpu_s;
}
BENCHMARK(search_405b_speedup)->UseRealTime()->Unit(benchmark::kSecond)->Iterations(4);

void search_175b(benchmark::State& state) {
  report(state, {"gpt-3-175b", "128 x dgx-h100", 1536, 2048}, 1);
}
void search_mixtral(benchmark::State& state) {
  report(state, {"mixtral-8x22b", "16 x dgx-h100", 256, 4096}, 1);
}
void search_8b(benchmark::State& state) {
  report(state, {"llama-3-8b", "4 x dgx-h100", 256, 8192}, 1);
}
BENCHMARK(search_175b)->UseRealTime()->Unit(benchmark::kSecond);
BENCHMARK(search_mixtral)->UseRealTime()->Unit(benchmark::kSecond);
BENCHMARK(search_8b)->UseRealTime()->Unit(benchmark::kSecond);

}  // namespace
}  // namespace flopcast
