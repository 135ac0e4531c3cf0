// Collectives: how long forecasts and flows take to make. A ring all-reduce of 8,192 ranks as a
// macro-flow is to take a millisecond once the topology is built and a simulator of its links is there.
#include <benchmark/benchmark.h>

#include <optional>
#include <vector>

#include "flopcast/network/fit.h"

namespace flopcast {
namespace {

std::vector<Rate> capacities_of(const Topology& topology) {
  std::vector<Rate> capacities;
  for (const Topology::LinkInfo& link : topology.links()) capacities.push_back(link.capacity);
  return capacities;
}

void BM_RingAsMacroFlow(benchmark::State& state) {
  const auto nodes = static_cast<unsigned>(state.range(0));
  const Result<Cluster> cluster = Catalog::builtin().cluster(std::to_string(nodes) + " x dgx-h100");
  const Result<Topology> topology = Topology::build(*cluster);
  const std::vector<Rate> capacities = capacities_of(*topology);
  CollectiveQuery query;
  query.size = {1e9};
  query.algorithm = CollectiveAlgorithm::kRing;
  // One GPU of each node on one ring, or all of them.
  if (state.range(1) == 1) {
    for (unsigned n = 0; n < nodes; ++n) query.ranks.push_back(n * 8);
  }
  std::optional<FlowSimulator> flows;
  for (auto _ : state) {
    state.PauseTiming();
    flows.emplace(capacities);
    state.ResumeTiming();
    const auto submitted =
        submit_collective(*flows, *topology, *cluster, query, Expansion::kMacroFlow, Time{});
    benchmark::DoNotOptimize(flows->advance());
    if (!submitted) state.SkipWithError(submitted.error().text().c_str());
  }
}
BENCHMARK(BM_RingAsMacroFlow)->Args({8192, 1})->Args({1024, 8})->Unit(benchmark::kMicrosecond);

/// Asks for one size after the other, from 1 KB to 1 GB.
template <typename Ask>
void ask_for_sizes(benchmark::State& state, const Ask& ask) {
  double bytes = 1024;
  for (auto _ : state) {
    bytes = bytes < 1e9 ? bytes * 1.1 : 1024;
    benchmark::DoNotOptimize(ask(Bytes{bytes}));
  }
}

template <typename Ask>
void ask_the_table(benchmark::State& state, const Ask& ask) {
  const Catalog& catalog = Catalog::builtin();
  const Result<CollectiveModel> model =
      CollectiveModel::make(*catalog.cluster("dgx-h100"), catalog);
  CollectiveQuery query;
  ask_for_sizes(state, [&](Bytes size) {
    query.size = size;
    return ask(*model, query);
  });
}

void BM_ForecastFromTheTable(benchmark::State& state) {
  ask_the_table(state, [](const auto& model, const auto& query) { return model.time(query); });
}
BENCHMARK(BM_ForecastFromTheTable);

/// The same without what the time is made of, as searches and simulations ask for it.
void BM_EstimateFromTheTable(benchmark::State& state) {
  ask_the_table(state, [](const auto& model, const auto& query) { return model.estimate(query); });
}
BENCHMARK(BM_EstimateFromTheTable);

/// Of a case that the caller keeps.
std::optional<CollectiveFit::Curve> kept_case() {
  return CollectiveFit::builtin().curve(
      {"h100_sxm", "NCCL", "", "", CollectiveOp::kAllReduce, 8, 1});
}

/// Time, band, basis and source.
void BM_AnswerOfACurve(benchmark::State& state) {
  ask_for_sizes(state, [curve = kept_case()](Bytes size) { return curve->at(size); });
}
BENCHMARK(BM_AnswerOfACurve);

/// The number alone.
void BM_TimeFromTheTable(benchmark::State& state) {
  ask_for_sizes(state, [curve = kept_case()](Bytes size) { return curve->time(size); });
}
BENCHMARK(BM_TimeFromTheTable);

/// A rank count that was not measured: from the relatives of the case, all of them made ready.
void BM_CurveOfAnUnmeasuredRankCount(benchmark::State& state) {
  const std::string text = CollectiveFit::builtin().toml();
  const CollectiveCase what{"h100_sxm", "NCCL", "", "", CollectiveOp::kAllReduce, 6, 1};
  for (auto _ : state) {
    state.PauseTiming();
    const Result<CollectiveFit> fit = CollectiveFit::parse(text, "fit");
    state.ResumeTiming();
    benchmark::DoNotOptimize(fit->curve(what));
  }
}
BENCHMARK(BM_CurveOfAnUnmeasuredRankCount)->Unit(benchmark::kMillisecond);

void BM_FitOfThePublicSystems(benchmark::State& state) {
  const std::string text = CollectiveFit::builtin().toml();
  for (auto _ : state) benchmark::DoNotOptimize(CollectiveFit::parse(text, "fit"));
}
BENCHMARK(BM_FitOfThePublicSystems)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
