// The cheapest sharding against all shardings of small random graphs.
#include <gtest/gtest.h>

#include "mapping/partition/testing.h"
#include "mapping/sharding/sharding.h"

namespace flopcast::mapping {
namespace {

using test::Random;

constexpr double kWord = 2;

/// Weighted products, weight gradients and element-wise kernels.
DataflowKernel random_kernel(Random& random) {
  const auto size = [&] { return static_cast<std::int64_t>(2 + test::below(random, 40)); };
  DataflowKernel kernel;
  kernel.m = size();
  kernel.n = size();
  kernel.tiled = KernelDimension::kN;
  const std::size_t kind = test::below(random, 3);
  if (kind == 0) return kernel;
  kernel.k = size();
  if (kind == 1) {
    kernel.weight = {kWord * static_cast<double>(kernel.m * kernel.k)};
  } else {
    kernel.tiled = KernelDimension::kK;
  }
  return kernel;
}

DataflowWorkload random_workload(Random& random) {
  DataflowWorkload workload;
  DataflowGraph& graph = workload.graph;
  for (std::size_t i = 2 + test::below(random, 4); i > 0; --i) {
    graph.kernels.push_back(random_kernel(random));
    graph.kernels.back().name = std::to_string(i);
  }
  for (std::uint32_t from = 0; from < graph.kernels.size(); ++from) {
    DataflowTensor tensor{"", from, {8 * (1 + test::size_below(random, 200))}, {}, true};
    for (std::uint32_t to = from + 1; to < graph.kernels.size(); ++to) {
      if (test::once_in(random, 2)) {
        tensor.uses.push_back({to, static_cast<Operand>(test::below(random, 5))});
      }
    }
    graph.tensors.push_back(std::move(tensor));
  }
  return workload;
}

/// Weights are not replicated, and what tiles cut is only divided where nothing is summed over it.
std::vector<Sharding> choices_of(const DataflowKernel& kernel, bool scatter) {
  std::vector<Sharding> all = {Sharding::kM};
  if (kernel.weight.value > 0) {
    all.push_back(Sharding::kK);
    if (scatter) all.insert(all.end(), {Sharding::kKSplitM, Sharding::kKSplitN});
    return all;
  }
  all.push_back(Sharding::kNone);
  if (kernel.k > 0 || scatter) all.push_back(Sharding::kN);
  return all;
}

Layout layout_of(Sharding sharding) {
  if (sharding == Sharding::kM || sharding == Sharding::kKSplitM) return Layout::kFeatures;
  if (sharding == Sharding::kN || sharding == Sharding::kKSplitN) return Layout::kTokens;
  return Layout::kReplicated;
}

/// An operand is features x tokens; each runs along one dimension of the kernel.
Layout wanted(Sharding sharding, Operand operand) {
  constexpr char kFeatures[] = {'m', 'k', 'm', 'm', 'n'};
  constexpr char kTokens[] = {'n', 'n', 'k', 'k', 'k'};
  if (sharding == Sharding::kNone) return Layout::kReplicated;
  const char along = sharding == Sharding::kM ? 'm' : sharding == Sharding::kN ? 'n' : 'k';
  if (kFeatures[static_cast<int>(operand)] == along) return Layout::kFeatures;
  return kTokens[static_cast<int>(operand)] == along ? Layout::kTokens : Layout::kReplicated;
}

double bytes_of(const DataflowGraph& graph, const std::vector<Sharding>& shardings) {
  double bytes = 0;
  for (std::size_t i = 0; i < shardings.size(); ++i) {
    const bool sums = shardings[i] != Sharding::kNone && shardings[i] != Sharding::kM &&
                      shardings[i] != Sharding::kN;
    const DataflowKernel& kernel = graph.kernels[i];
    if (sums) bytes += kWord * static_cast<double>(kernel.m * kernel.n);
  }
  for (const DataflowTensor& tensor : graph.tensors) {
    const Layout from = layout_of(shardings[tensor.producer]);
    for (const DataflowUse& use : tensor.uses) {
      const Layout to = wanted(shardings[use.kernel], use.operand);
      if (from != Layout::kReplicated && from != to) bytes += tensor.bytes.value;
    }
  }
  return bytes;
}

double least_bytes(const DataflowGraph& graph, bool scatter, std::vector<Sharding>& shardings) {
  if (shardings.size() == graph.kernels.size()) return bytes_of(graph, shardings);
  double least = INFINITY;
  for (const Sharding sharding : choices_of(graph.kernels[shardings.size()], scatter)) {
    shardings.push_back(sharding);
    least = std::min(least, least_bytes(graph, scatter, shardings));
    shardings.pop_back();
  }
  return least;
}

TEST(ShardGraph, MovesTheFewestBytesOfAllShardings) {
  MappingSystem system;
  system.dimensions = {{DimensionKind::kRing, 4, {1e9}, {}}};
  const MappingShape shape{{4, 1, 1}, {{4, 1, 1}}};
  const GroupNetwork network(system, shape, Parallelism::kTensor, false);
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Random random(seed);
    const DataflowWorkload workload = random_workload(random);
    MappingModel model = paper_model();
    model.reduce_scatter = test::once_in(random, 2);
    const Result<ShardedGraph> got = shard_graph(workload, network, model, {});
    ASSERT_TRUE(got);
    std::vector<Sharding> shardings;
    const double least = least_bytes(workload.graph, model.reduce_scatter, shardings);
    for (const ShardedKernel& kernel : got->kernels) shardings.push_back(kernel.sharding);
    ASSERT_EQ(got->published_bytes, least) << "seed " << seed;
    ASSERT_EQ(bytes_of(workload.graph, shardings), least) << "seed " << seed;
    moved += least > 0;
  }
  EXPECT_GT(moved, 500U);
}

}  // namespace
}  // namespace flopcast::mapping
