// Speed of what-ifs once a recording is read: one question, a whole sensitivity, and a run of 512
// ranks grown from 8. The recording is nanogpt_8xh100 of ../shared, where that is at hand, and the
// made-up run of examples/make_sample.py.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "flopcast/whatif.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

/// Where it is; written where nobody has run `./dev demo`.
fs::path sample_folder() {
  const fs::path demo = "demo/sample", made = fs::temp_directory_path() / "flopcast_bench_sample";
  if (fs::exists(demo)) return demo;
  const std::string command = "python3 examples/make_sample.py '" + made.string() + "' > /dev/null";
  return fs::exists(made) || std::system(command.c_str()) == 0 ? made : fs::path();
}

/// 0: the sample; 1: recorded.
Result<std::shared_ptr<const TraceSet>> recording(int which) {
  const char* named = std::getenv("FLOPCAST_SHARED");
  const fs::path shared = named != nullptr ? named : "../shared";
  Result<TraceSet> set =
      read_traces({which == 0 ? sample_folder() : shared / "traces/nanogpt_8xh100"});
  if (!set) return set.error();
  return std::make_shared<const TraceSet>(std::move(*set));
}

/// The recording prepared; null, and the case skipped, where it is not here.
const WhatIf* prepared(benchmark::State& state) {
  static std::optional<WhatIf> made[2];
  const auto which = static_cast<int>(state.range(0));
  if (!made[which]) {
    const auto set = recording(which);
    if (!set) {
      state.SkipWithError(set.error().text().c_str());
      return nullptr;
    }
    Result<WhatIf> whatif = WhatIf::of(*set);
    if (whatif) made[which].emplace(std::move(*whatif));
  }
  state.SetLabel(which == 0 ? "sample" : "nanogpt_8xh100");
  return made[which] ? &*made[which] : nullptr;
}

void ask(benchmark::State& state, const WhatIfChanges& changes) {
  const WhatIf* whatif = prepared(state);
  if (whatif == nullptr) return;
  for (auto _ : state) {
    const Result<WhatIfAnswer> answer = whatif->ask(changes);
    if (!answer || !answer->refused.empty()) return state.SkipWithError("no answer");
    state.counters["ranks"] = answer->ranks_after;
  }
}

void whatif_prepare(benchmark::State& state) {
  const auto set = recording(static_cast<int>(state.range(0)));
  if (!set) return state.SkipWithError(set.error().text().c_str());
  for (auto _ : state) benchmark::DoNotOptimize(WhatIf::of(*set));
}
BENCHMARK(whatif_prepare)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void whatif_kernels(benchmark::State& state) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 0.8}};
  ask(state, changes);
}
BENCHMARK(whatif_kernels)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void whatif_profiler(benchmark::State& state) {
  WhatIfChanges changes;
  changes.remove = {"profiler"};
  ask(state, changes);
}
BENCHMARK(whatif_profiler)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Three changes, each put first, between, and last.
void whatif_causes(benchmark::State& state) {
  WhatIfChanges changes;
  changes.set = {{"layers", "8"}};
  changes.scale = {{"kernel:gemm", 0.8}, {"host", 0.9}};
  ask(state, changes);
}
BENCHMARK(whatif_causes)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

void whatif_sensitivity(benchmark::State& state) {
  const WhatIf* whatif = prepared(state);
  if (whatif == nullptr) return;
  std::size_t rows = 0;
  for (auto _ : state) {
    const auto parts = whatif->sensitivity();
    if (!parts) return state.SkipWithError(parts.error().text().c_str());
    rows = parts->size();
  }
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["rows_per_s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(whatif_sensitivity)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// From 2 replicas of 4 ranks to so many.
void whatif_replicas(benchmark::State& state) {
  WhatIfChanges changes;
  changes.set = {{"dp", std::to_string(state.range(1))}};
  ask(state, changes);
}
BENCHMARK(whatif_replicas)
    ->Args({0, 16})
    ->Args({0, 128})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
