// Collectives: how long forecasts and flows take to make. A ring all-reduce of 8,192 ranks as a
// macro-flow is to take a millisecond once the topology is built and a simulator of its links is there.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
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

/// A ring all-reduce of one GPU of each node, or of all of them, on links that carry nothing else.
class Ring {
 public:
  Ring(unsigned nodes, unsigned gpus_of_a_node)
      : cluster_(*Catalog::builtin().cluster(std::to_string(nodes) + " x dgx-h100")),
        topology_(Topology::build(cluster_)),
        capacities_(capacities_of(*topology_)) {
    query_.size = {1e9};
    query_.algorithm = CollectiveAlgorithm::kRing;
    if (gpus_of_a_node == 1) {
      for (unsigned n = 0; n < nodes; ++n) query_.ranks.push_back(n * 8);
    }
  }

  void clear() { flows_.emplace(capacities_); }
  /// @return when it ends; none if it cannot be submitted.
  std::optional<Time> run(Expansion expansion) {
    const auto submitted =
        submit_collective(*flows_, *topology_, cluster_, query_, expansion, Time{});
    if (!submitted) return std::nullopt;
    flows_->advance();
    return flows_->now();
  }

 private:
  Cluster cluster_;
  Result<Topology> topology_;
  std::vector<Rate> capacities_;
  CollectiveQuery query_;
  std::optional<FlowSimulator> flows_;
};

void BM_RingAsMacroFlow(benchmark::State& state) {
  Ring ring(static_cast<unsigned>(state.range(0)), static_cast<unsigned>(state.range(1)));
  for (auto _ : state) {
    state.PauseTiming();
    ring.clear();
    state.ResumeTiming();
    if (!ring.run(Expansion::kMacroFlow)) state.SkipWithError("not submitted");
  }
}
BENCHMARK(BM_RingAsMacroFlow)->Args({8192, 1})->Args({1024, 8})->Unit(benchmark::kMicrosecond);

double seconds_of(const auto& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// How many times longer all messages of a ring take to simulate, one by one.
void ratio_of_messages_to_macro_flow(benchmark::State& state) {
  Ring ring(static_cast<unsigned>(state.range(0)), 1);
  double macro_flow = 0, messages = 0;
  std::optional<Time> macro_end, end;
  for (auto _ : state) {
    ring.clear();
    macro_flow += seconds_of([&] { macro_end = ring.run(Expansion::kMacroFlow); });
    ring.clear();
    messages += seconds_of([&] { end = ring.run(Expansion::kExpanded); });
  }
  // A nanosecond, as expand_test.cc.
  if (!end || !macro_end || std::abs(end->ps - macro_end->ps) > 1000) {
    state.SkipWithError("the two disagree");
  }
  state.counters["messages_time_over_macro_flow"] = messages / macro_flow;
}
BENCHMARK(ratio_of_messages_to_macro_flow)->Arg(512)->Unit(benchmark::kMillisecond)->Iterations(3);

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
  const Result<CollectiveModel> model = CollectiveModel::make(*catalog.cluster("dgx-h100"));
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

/// How many times longer the same collective takes to simulate than to look up.
void ratio_of_macro_flow_to_table(benchmark::State& state) {
  const Catalog& catalog = Catalog::builtin();
  const Result<CollectiveModel> model = CollectiveModel::make(*catalog.cluster("dgx-h100"));
  Ring ring(1, 8);
  constexpr int kAsked = 1000;
  CollectiveQuery query;
  query.size = {1e9};
  double table = 0, macro_flow = 0;
  for (auto _ : state) {
    table += seconds_of([&] {
      for (int i = 0; i < kAsked; ++i) benchmark::DoNotOptimize(model->estimate(query));
    });
    for (int i = 0; i < kAsked; ++i) {
      ring.clear();
      macro_flow += seconds_of([&] {
        if (!ring.run(Expansion::kMacroFlow)) state.SkipWithError("not submitted");
      });
    }
  }
  state.counters["macro_flow_time_over_table"] = macro_flow / table;
}
BENCHMARK(ratio_of_macro_flow_to_table)->Unit(benchmark::kMillisecond)->Iterations(20);

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
