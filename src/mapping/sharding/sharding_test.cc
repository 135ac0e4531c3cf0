#include "mapping/sharding/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

/// Tensor parallelism over all chips of a ring, 50 GB/s.
struct Ring {
  explicit Ring(unsigned chips, double latency_s = 0) {
    system.dimensions = {{DimensionKind::kRing, chips, {50e9}, {latency_s}}};
    shape.degree = {chips, 1, 1};
    shape.factors = {shape.degree};
  }
  GroupNetwork network() const { return {system, shape, Parallelism::kTensor, true}; }
  MappingSystem system;
  MappingShape shape;
};

DataflowWorkload load(const char* name) {
  Result<DataflowWorkload> workload = load_dataflow(name);
  EXPECT_TRUE(workload) << workload.error().text();
  return std::move(*workload);
}

ShardedGraph shard(const DataflowWorkload& workload, unsigned chips, const MappingModel& model,
                   const std::vector<ShardingPin>& pins = {}) {
  Result<ShardedGraph> graph = shard_graph(workload, Ring(chips).network(), model, pins);
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().text();
  return {};
}

Sharding of(const DataflowWorkload& workload, const ShardedGraph& sharded, const char* kernel) {
  return sharded.kernels[*workload.graph.find(kernel)].sharding;
}

double network_s(const ShardedGraph& sharded) {
  return std::accumulate(sharded.kernels.begin(), sharded.kernels.end(), 0.0,
                         [](double sum, const ShardedKernel& k) { return sum + k.network_s; });
}

TEST(ShardGraph, MovesThePublishedBytes) {
  const DataflowWorkload training = load("gpt3-1t"), forward = load("gpt3-175b");
  EXPECT_EQ(shard(training, 8, paper_model()).published_bytes, 419'430'400);
  const ShardedGraph sharded = shard(forward, 8, paper_model());
  EXPECT_EQ(sharded.published_bytes, 100'663'296);
  // Two sums of hidden x sequence, each passed twice around the ring of 8.
  EXPECT_NEAR(network_s(sharded), 100'663'296 * 2.0 * 7 / 8 / 50e9, 1e-12);
}

TEST(ShardGraph, DividesAsThePublishedLogs) {
  const DataflowWorkload training = load("gpt3-1t"), forward = load("gpt3-175b");
  for (const DataflowWorkload* workload : {&training, &forward}) {
    const ShardedGraph sharded = shard(*workload, 8, paper_model());
    EXPECT_EQ(of(*workload, sharded, "out_proj"), Sharding::kK);
    EXPECT_EQ(of(*workload, sharded, "ffn_up"), Sharding::kM);
    EXPECT_EQ(of(*workload, sharded, "ffn_down"), Sharding::kK);
    EXPECT_EQ(of(*workload, sharded, "q"), Sharding::kOuter);
  }
  const ShardedGraph sharded = shard(training, 8, paper_model());
  EXPECT_EQ(of(training, sharded, "v_bwd"), Sharding::kK);
}

TEST(ShardGraph, ObeysPins) {
  const DataflowWorkload forward = load("gpt3-175b");
  const ShardedGraph divided = shard(forward, 8, paper_model(), {{"residual_2", Sharding::kM}});
  EXPECT_EQ(of(forward, divided, "residual_2"), Sharding::kM);
  const ShardedGraph whole = shard(forward, 8, paper_model(), {{"residual_2", Sharding::kNone}});
  EXPECT_EQ(of(forward, whole, "residual_2"), Sharding::kNone);
  EXPECT_EQ(divided.published_bytes, whole.published_bytes);  // a tie, broken both ways
  // One divides the work of the kernel by eight.
  const auto work = [&](const ShardedGraph& graph) {
    const std::uint32_t kernel = *forward.graph.find("residual_2");
    return kernel_share(forward.graph.kernels[kernel], graph.kernels[kernel].sharding, 8).work;
  };
  EXPECT_DOUBLE_EQ(work(whole).value, 8 * work(divided).value);
  // A group of one divides nothing.
  EXPECT_EQ(
      of(forward, shard(forward, 1, paper_model(), {{"residual_2", Sharding::kM}}), "residual_2"),
      Sharding::kNone);
}

TEST(ShardGraph, RefusesPinsThatCannotBe) {
  const DataflowWorkload forward = load("gpt3-175b");
  const GroupNetwork network = Ring(8).network();
  const auto unknown = shard_graph(forward, network, paper_model(), {{"nobody", Sharding::kM}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text(), HasSubstr("nobody"));
  const auto refused = shard_graph(forward, network, paper_model(), {{"q", Sharding::kN}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().text(), HasSubstr("q: cannot be divided along n"));
  EXPECT_THAT(refused.error().text(), HasSubstr("outer"));
}

TEST(ShardGraph, ByTimeIsNeverSlowerThanByBytes) {
  for (const char* name : {"gpt3-175b", "gpt3-1t", "llama3-8b-dfmodel:decode", "llama-3-8b"}) {
    const DataflowWorkload workload = load(name);
    for (const unsigned chips : {2U, 8U}) {
      for (const bool shared : {false, true}) {
        MappingModel model = full_model();
        model.shared_tensors = shared;
        const double by_time = network_s(shard(workload, chips, model));
        model.sharding_by_time = false;
        const double by_bytes = network_s(shard(workload, chips, model));
        // Times are summed in picoseconds, one rounding for each sum and conversion.
        EXPECT_LE(by_time, by_bytes + 200e-12) << name << ", TP " << chips;
      }
    }
  }
}

TEST(ShardGraph, ScatteringSumsIsNeverSlowerThanReplicatingThem) {
  const DataflowWorkload workload = load("gpt3-175b");
  MappingModel model = full_model();
  const double free_s = network_s(shard(workload, 8, model));
  model.reduce_scatter = false;
  EXPECT_LE(free_s, network_s(shard(workload, 8, model)) + 200e-12);
}

TEST(ShardGraph, CountsThePassesOfAnAllReduce) {
  const DataflowWorkload workload = load("gpt3-175b");
  MappingModel model = paper_model();
  const double twice_s = network_s(shard(workload, 8, model));
  model.all_reduce_factor = 1;
  EXPECT_DOUBLE_EQ(network_s(shard(workload, 8, model)), twice_s / 2);
}

TEST(ShardGraph, LayoutsFollowTheShardings) {
  const DataflowWorkload workload = load("gpt3-175b");
  const ShardedGraph sharded = shard(workload, 8, paper_model());
  ASSERT_EQ(sharded.tensors.size(), workload.graph.tensors.size());
  for (std::size_t i = 0; i < sharded.tensors.size(); ++i) {
    const Sharding sharding = sharded.kernels[workload.graph.tensors[i].producer].sharding;
    const bool split = sharding == Sharding::kOuter || sharding == Sharding::kM;
    EXPECT_EQ(sharded.tensors[i].layout, split ? Layout::kFeatures : Layout::kReplicated);
    EXPECT_EQ(sharded.tensors[i].share, split ? 1.0 / 8 : 1);
  }
}

TEST(KernelShare, IsRoundedUpAndNeverReplicatesWeightsThatAreDivided) {
  DataflowKernel kernel;
  kernel.m = 100;
  kernel.n = 7;
  kernel.k = 50;
  const KernelShare rows = kernel_share(kernel, Sharding::kM, 8);
  EXPECT_EQ(rows.m, 13);
  EXPECT_EQ(rows.weight, 1.0 / 8);
  EXPECT_EQ(rows.work.value, 2.0 * 13 * 7 * 50);
  EXPECT_EQ(kernel_share(kernel, Sharding::kKSplitM, 8).k, 7);
  EXPECT_EQ(kernel_share(kernel, Sharding::kN, 8).weight, 1);
  EXPECT_EQ(kernel_share(kernel, Sharding::kNone, 8).work.value, 2.0 * 100 * 7 * 50);
}

}  // namespace
}  // namespace flopcast::mapping
