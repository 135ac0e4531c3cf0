// Workloads by name, and those that are no transformers against the published numbers (Ko et al.,
// "DFModel", and the setups and logs of its code).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flopcast/workload/dataflow.h"
#include "support/temporary_folder.h"

namespace flopcast::workload {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double work_of(const DataflowWorkload& workload) {
  return workload.graph.work().value * static_cast<double>(workload.layers) *
         static_cast<double>(workload.global_batch);
}

DataflowWorkload loaded(const std::string& name, const DataflowOptions& options = {}) {
  Result<DataflowWorkload> workload = load_dataflow(name, options);
  EXPECT_TRUE(workload) << (workload ? "" : workload.error().text());
  return workload ? *workload : DataflowWorkload{};
}

std::string refusal(const std::string& name, const DataflowOptions& options = {}) {
  const Result<DataflowWorkload> workload = load_dataflow(name, options);
  return workload ? "loaded" : workload.error().text();
}

TEST(Dlrm, HasThePublishedGraph) {
  const DataflowWorkload dlrm = loaded("dlrm");
  EXPECT_EQ(dlrm.graph.kernels.size(), 60u);
  EXPECT_EQ(dlrm.graph.uses(), 76u);
  EXPECT_TRUE(dlrm.training);
  EXPECT_NEAR(work_of(dlrm) / 3.5831808e20, 1, 1e-12);
  EXPECT_EQ(loaded("dlrm:forward").graph.kernels.size(), 20u);
  EXPECT_EQ(loaded("dlrm:forward").graph.uses(), 19u);
  // 793 G parameters in tables.
  EXPECT_NEAR(dlrm.resident.value / 2 / 793e9, 1, 1e-3);
}

// One chip's 512 samples: 837,000 bytes to each of 1,024 chips, forward and back.
TEST(Dlrm, EmbeddingsGoAllToAllTwice) {
  const DataflowGraph batch = at_microbatch(loaded("dlrm").graph, 512);
  std::vector<std::string> names;
  for (const DataflowKernel& kernel : batch.kernels) {
    if (kernel.transfers.empty()) continue;
    names.push_back(kernel.name);
    EXPECT_EQ(kernel.transfers[0].kind, DataflowTransferKind::kAllToAll);
    EXPECT_EQ(kernel.transfers[0].bytes.value, 837000.0 * 1024);
    EXPECT_EQ(kernel.traffic.value, 857088000);
  }
  EXPECT_THAT(names, ElementsAre("mlp_5", "mlp_5_bwd"));
}

TEST(Dlrm, GradientsReadInputsAndOutputGradients) {
  const DataflowGraph graph = dlrm_training({.mlp = 4, .bottom = 1, .top = 2});
  ASSERT_TRUE(check_dataflow(graph));
  std::vector<std::string> edges;
  for (const DataflowTensor& tensor : graph.tensors) {
    for (const DataflowUse& use : tensor.uses) {
      edges.push_back(tensor.name + ">" + graph.kernels[use.kernel].name);
    }
  }
  EXPECT_THAT(edges, ::testing::UnorderedElementsAre(
                         "mlp_1>mlp_2", "mlp_2>mlp_3", "mlp_3_bwd>mlp_2_bwd", "mlp_2_bwd>mlp_1_bwd",
                         "mlp_1>mlp_2_grad", "mlp_2>mlp_3_grad", "mlp_3_bwd>mlp_2_grad",
                         "mlp_2_bwd>mlp_1_grad"));
}

TEST(Hpl, HasThePublishedWork) {
  const DataflowGraph graph = loaded("hpl").graph;
  EXPECT_EQ(graph.kernels.size(), 64u);
  EXPECT_EQ(graph.uses(), 63u);
  EXPECT_EQ(graph.work().value, 2.542307278418084e17);
  const DataflowKernel& second = graph.kernels[1];
  EXPECT_THAT((std::array{second.m, second.n, second.k}), ElementsAre(1046528, 2048, 1046528));
  EXPECT_EQ(second.transfers[0].kind, DataflowTransferKind::kBroadcast);
  EXPECT_EQ(second.transfers[0].bytes.value, 1046528.0 * 2048 * 2);
  EXPECT_EQ(second.transfers[1].kind, DataflowTransferKind::kPointToPoint);
}

TEST(Hpl, GathersIterationsWithoutLosingWork) {
  for (const HplShape& shape :
       {HplShape{}, HplShape{.n = 100'001, .block = 128},
        HplShape{.n = 1000, .block = 10, .most_kernels = 7}, HplShape{.n = 50, .block = 64}}) {
    const DataflowGraph graph = hpl(shape);
    ASSERT_TRUE(check_dataflow(graph));
    const std::int64_t iterations = (shape.n + shape.block - 1) / shape.block;
    EXPECT_EQ(static_cast<std::int64_t>(graph.kernels.size()),
              std::min(iterations, shape.most_kernels));
    double work = 0, panels = 0, sent = 0;
    for (std::int64_t i = 0; i < iterations; ++i) {
      const auto left = static_cast<double>(shape.n - i * shape.block);
      work += 2 * left * left * static_cast<double>(shape.block);
      panels += left * static_cast<double>(shape.block) * 2;
    }
    for (const DataflowKernel& kernel : graph.kernels) sent += kernel.transfers[0].bytes.value;
    EXPECT_NEAR(graph.work().value / work, 1, 1e-4) << shape.n;
    EXPECT_NEAR(sent / panels, 1, 1e-12) << shape.n;
  }
  // 5,000,000 rows: 2/3 n^3, as everybody counts Linpack.
  EXPECT_NEAR(hpl({}).work().value / (2.0 / 3 * std::pow(5e6, 3)), 1, 2e-3);
}

TEST(Fft, HasThePublishedWork) {
  const DataflowGraph graph = loaded("fft").graph;
  EXPECT_EQ(graph.work().value, 2251799813685248);
  ASSERT_EQ(graph.kernels.size(), 2u);
  EXPECT_EQ(graph.kernels[0].k, 512);
  EXPECT_TRUE(graph.kernels[0].transfers.empty());
  EXPECT_EQ(graph.kernels[1].transfers[0].bytes.value, std::pow(2.0, 41));
  EXPECT_EQ(graph.tensors[0].bytes.value, std::pow(2.0, 41));
}

TEST(Fft, ThreeDimensionsTurnTheArrayTwice) {
  const DataflowGraph graph = fft({.side = 1024, .dimensions = 3});
  ASSERT_TRUE(check_dataflow(graph));
  ASSERT_EQ(graph.kernels.size(), 3u);
  // 10 / 5 passes of 4 x 32 over 2^30 points, in each of three dimensions.
  EXPECT_EQ(graph.work().value, 3 * 2 * std::pow(2.0, 30) * 256);
  EXPECT_EQ(graph.kernels[2].transfers[0].bytes.value, std::pow(2.0, 31));
}

TEST(LoadDataflow, EveryNameIsAWholeGraph) {
  const std::vector<std::string> names = builtin_dataflows();
  EXPECT_THAT(names, Contains("gpt3-175b"));
  EXPECT_THAT(names, Contains("llama3-8b-dfmodel:decode"));
  for (const std::string& name : names) {
    const Result<bool> sound = check_dataflow(loaded(name).graph);
    EXPECT_TRUE(sound) << name << ": " << sound.error().text();
  }
}

TEST(LoadDataflow, PublishedPassesAreTheDefault) {
  EXPECT_EQ(loaded("gpt3-175b").graph, loaded("gpt3-175b:forward").graph);
  EXPECT_EQ(loaded("gpt3-1t").graph, loaded("gpt3-1t:training").graph);
  EXPECT_EQ(loaded("llama-3-8b").graph, loaded("llama-3-8b:training").graph);
  EXPECT_EQ(loaded("gpt3-175b").global_batch, 2304);
  EXPECT_EQ(loaded("gpt3-175b").layers, 96);
  EXPECT_EQ(loaded("gpt3-175b").boundary.value, 12288 * 2048 * 2);
}

TEST(LoadDataflow, Options) {
  const DataflowWorkload changed =
      loaded("gpt3-1t", {.sequence = 4096, .global_batch = 12, .unroll = 2});
  EXPECT_EQ(changed.tokens, 4096);
  EXPECT_EQ(changed.global_batch, 12);
  EXPECT_EQ(changed.layers, 64);
  EXPECT_EQ(changed.graph.kernels.size(), 82u);
  EXPECT_THAT(refusal("gpt3-1t", {.unroll = 3}), HasSubstr("128 layers cannot be unrolled by 3"));
  EXPECT_THAT(refusal("fft", {.sequence = 4096}), HasSubstr("no sequence"));
  EXPECT_THAT(refusal("gpt3-1t", {.sequence = -1}), HasSubstr("0 to 2^40"));
}

TEST(LoadDataflow, UnknownNamesListNearOnes) {
  EXPECT_THAT(refusal("gpt3-1x"), HasSubstr("'gpt3-1t"));
  EXPECT_THAT(refusal("gpt3-1t:backward"), HasSubstr("neither a built-in dataflow workload"));
  EXPECT_THAT(refusal("llama-3-71b:decode"), HasSubstr("llama-3-70b"));
}

TEST(LoadDataflow, Files) {
  const test::TemporaryFolder dir;
  const DataflowWorkload dlrm = loaded("dlrm");
  test::write_text(dir / "dlrm.toml", dataflow_toml(dlrm));
  EXPECT_EQ(loaded((dir / "dlrm.toml").string()), dlrm);
  EXPECT_THAT(refusal((dir / "dlrm.toml").string(), {.sequence = 2}), HasSubstr("no sequence"));
  EXPECT_THAT(refusal((dir / "absent.toml").string()), HasSubstr("cannot be read"));
  test::write_text(dir / "setup.txt", "dataflow_graph { kernels { id: 1 name: \"alone\" } }");
  EXPECT_EQ(loaded((dir / "setup.txt").string()).graph.kernels[0].name, "alone");
}

}  // namespace
}  // namespace flopcast::workload
