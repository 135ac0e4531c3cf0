// Nanoseconds per kernel-time query, on random kernels of every class.
#include <benchmark/benchmark.h>

#include <random>

#include "flopcast/cost.h"

namespace flopcast {
namespace {

constexpr std::size_t kKernels = 4096;

std::int64_t size(std::mt19937_64& random, double most_log2) {
  return static_cast<std::int64_t>(
      std::exp2(std::uniform_real_distribution<double>(0, most_log2)(random)));
}

KernelModel model_of(const char* chip) {
  return std::move(*KernelModel::make(*Catalog::builtin().chip(chip), Catalog::builtin()));
}

template <typename K, typename Make>
void run(benchmark::State& state, const char* chip, Make&& make) {
  const KernelModel model = model_of(chip);
  std::mt19937_64 random(1);
  std::vector<K> kernels;
  for (std::size_t i = 0; i < kKernels; ++i) kernels.push_back(make(random));
  benchmark::DoNotOptimize(model.time(kernels[0]));  // loads the fit
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(model.time(kernels[i++ % kKernels]));
}

Gemm any_gemm(std::mt19937_64& random) {
  return {size(random, 15), size(random, 16), size(random, 16)};
}

void gemm(benchmark::State& state) { run<Gemm>(state, "h100", any_gemm); }
void gemm_scaled_from_a_relative(benchmark::State& state) { run<Gemm>(state, "mi300x", any_gemm); }
void attention_prefill(benchmark::State& state) {
  run<Attention>(state, "h100", [](std::mt19937_64& random) {
    Attention a;
    a.query_length = a.kv_length = size(random, 15) + 1;
    a.batch = size(random, 6);
    a.heads = 32, a.kv_heads = 8;
    return a;
  });
}
void attention_decode(benchmark::State& state) {
  run<Attention>(state, "h100", [](std::mt19937_64& random) {
    Attention a;
    a.query_length = 1;
    a.kv_length = size(random, 17) + 1;
    a.batch = size(random, 8);
    a.heads = 32, a.kv_heads = 8;
    return a;
  });
}
GroupedGemm any_layer(std::mt19937_64& random, std::int64_t hidden) {
  GroupedGemm g;
  g.tokens = size(random, 14);
  g.hidden = hidden, g.intermediate = 2048, g.top_k = 8, g.experts = 256;
  g.expert_parallel = 8;
  g.type = GemmType::kFp8Block;
  return g;
}
void moe_measured_layer(benchmark::State& state) {
  run<GroupedGemm>(state, "h100", [](std::mt19937_64& random) { return any_layer(random, 7168); });
}
void moe_unseen_layer(benchmark::State& state) {
  run<GroupedGemm>(state, "h100", [](std::mt19937_64& random) { return any_layer(random, 5120); });
}
void memory_bound(benchmark::State& state) {
  run<MemoryBound>(state, "h100", [](std::mt19937_64& random) {
    return MemoryBound{MemoryOp::kRmsNorm, size(random, 15), size(random, 14)};
  });
}

BENCHMARK(gemm);
BENCHMARK(gemm_scaled_from_a_relative);
BENCHMARK(attention_prefill);
BENCHMARK(attention_decode);
BENCHMARK(moe_measured_layer);
BENCHMARK(moe_unseen_layer);
BENCHMARK(memory_bound);

}  // namespace
}  // namespace flopcast
