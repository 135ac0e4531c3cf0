// Speed of one replica: iterations stepped one by one at 256 and 2,048 users, requests with leaps, and what an
// iteration's price costs alone, which is part of each. Closed loops: a user's next request is sent when the last is
// answered. Then whole fleets, as a search runs them.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flopcast/serving/replica.h"
#include "flopcast/serving/search.h"

namespace flopcast {
namespace {

Deployment bench_deployment(ServingEngine engine) {
  Deployment deployment{load_model("llama-3.1-8b").value(),
                        Catalog::builtin().cluster("1 x dgx-h200").value(),
                        {},
                        {},
                        {}};
  deployment.settings = engine_defaults(engine, deployment.model, deployment.layout);
  deployment.settings.max_requests = 4096;
  deployment.settings.batch_tokens = 16384;
  deployment.settings.kv_tokens = 16'000'000;  // no queue: what is measured is the running batch
  return deployment;
}

struct Prices {
  explicit Prices(ServingEngine engine)
      : deployment(bench_deployment(engine)),
        model(std::move(IterationModel::make(deployment, Catalog::builtin()).value())) {}
  Deployment deployment;
  IterationModel model;
};

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}

// Runs `requests` requests of `users` users, with prompts of 819 to 1024 tokens and answers of as many.
ReplicaCounts closed_loop(const Prices& prices, std::int64_t users, std::int64_t requests,
                          bool leap) {
  Replica replica(prices.model, prices.deployment, ServingMemory{}, {.leap = leap});
  std::uint64_t random = 7;
  std::uint32_t sent = 0;
  std::int64_t done = 0;
  const auto send = [&](Time at) {
    ReplicaRequest request;
    request.id = sent++;
    request.input = 819 + static_cast<std::int64_t>(next_random(random) % 206);
    request.output = 819 + static_cast<std::int64_t>(next_random(random) % 206);
    benchmark::DoNotOptimize(replica.submit(request, at));
  };
  for (std::int64_t user = 0; user < users; ++user) send({});
  std::vector<ReplicaEvent> events;
  while (done < requests) {
    replica.advance(replica.next(), events);
    for (const ReplicaEvent& event : events) {
      if (event.kind != ReplicaEventKind::kDone) continue;
      ++done;
      if (sent < requests) send(event.at);
    }
    events.clear();
  }
  return replica.counts();
}

void BM_Stepped(benchmark::State& state) {
  const Prices prices(static_cast<ServingEngine>(state.range(1)));
  std::int64_t iterations = 0;
  for (auto _ : state)
    iterations += closed_loop(prices, state.range(0), 4 * state.range(0), false).iterations;
  state.counters["iterations/s"] =
      benchmark::Counter(static_cast<double>(iterations), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Stepped)->ArgsProduct({{16, 256, 2048}, {0, 1, 2}})->Unit(benchmark::kMillisecond);

void BM_Leaps(benchmark::State& state) {
  const Prices prices(static_cast<ServingEngine>(state.range(1)));
  std::int64_t requests = 0;
  for (auto _ : state) {
    const std::int64_t all = 10 * state.range(0);
    benchmark::DoNotOptimize(closed_loop(prices, state.range(0), all, true));
    requests += all;
  }
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Leaps)->ArgsProduct({{16, 256, 2048}, {0, 1, 2}})->Unit(benchmark::kMillisecond);

void BM_Price(benchmark::State& state) {
  const Prices prices(ServingEngine::kVllm);
  RankLoad load;
  load.decodes = 256;
  load.context = 256 * 1024;
  for (auto _ : state) {
    ++load.context;
    benchmark::DoNotOptimize(prices.model.time(std::span(&load, 1)));
  }
}
BENCHMARK(BM_Price);

void BM_PriceOfRun(benchmark::State& state) {
  const Prices prices(ServingEngine::kVllm);
  RankLoad load;
  load.decodes = 256;
  load.context = 256 * 1024;
  for (auto _ : state) {
    ++load.context;
    benchmark::DoNotOptimize(prices.model.run(std::span(&load, 1)));
  }
}
BENCHMARK(BM_PriceOfRun);

/// Every fleet of two nodes under so many users, on one thread.
void BM_Search(benchmark::State& state) {
  FleetSearch search;
  search.model = *load_model("llama-3-70b");
  search.cluster = *Catalog::builtin().cluster("2 x dgx-h100");
  search.workload.kind = ServingWorkload::Kind::kClosed;
  search.workload.users = state.range(0);
  search.workload.count = 10 * state.range(0);
  search.workload.input = search.workload.output = 1024;
  search.workload.spread = 0.2;
  search.limits = *parse_service_limits("ttft.p99<100s");
  search.space.pp = {1};
  search.front = true;
  search.threads = 1;
  std::uint64_t fleets = 0;
  for (auto _ : state) fleets += search_fleets(search, Catalog::builtin())->counts.runs;
  state.counters["configurations/s"] =
      benchmark::Counter(static_cast<double>(fleets), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Search)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
