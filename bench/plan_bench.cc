// Speed of plan searches. `paper_study` is the whole study of Subramanian et al. in paper mode:
// 702 searches, 9,183,444 candidates. The authors' code does 300 candidates a second (8.4
// core-hours), a memoised restatement in Python 180,000 (51 s).
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

const std::vector<PaperCell>& study() {
  static const std::vector<PaperCell> cells = paper_study_cells();
  return cells;
}

std::uint64_t search_all(unsigned threads) {
  std::uint64_t candidates = 0;
  const auto results = paper_study(study(), threads);
  for (const PaperSearch& search : *results) candidates += search.candidates;
  return candidates;
}

void paper_study_on(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  std::uint64_t candidates = 0;
  for (auto _ : state) candidates += search_all(threads);
  const auto all = static_cast<double>(candidates);
  state.counters["candidates_per_s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["candidates_per_s_and_core"] =
      benchmark::Counter(all / threads, benchmark::Counter::kIsRate);
}
BENCHMARK(paper_study_on)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// One and two cores turn by turn, so that a busy machine slows both.
void paper_study_speedup(benchmark::State& state) {
  double one = 0;
  double two = 0;
  const auto seconds = [](unsigned threads) {
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(search_all(threads));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (auto _ : state) {
    one += seconds(1);
    two += seconds(2);
  }
  state.counters["one_core_over_two"] = one / two;
}
BENCHMARK(paper_study_speedup)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(5);

void paper_estimate_one(benchmark::State& state) {
  const PaperCase c{
      *paper_model("gpt3_1T"), *paper_system("B200-NVS8"), PaperStrategy::k1d, 4096, {}};
  const PaperPlan plan{{8, 1, 128, 16}, {8, 1, 1, 1}, 1, 1};
  for (auto _ : state) benchmark::DoNotOptimize(paper_estimate(c, plan));
}
BENCHMARK(paper_estimate_one);

}  // namespace
}  // namespace flopcast
