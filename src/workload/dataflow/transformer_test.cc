// Transformer layers as dataflow graphs: the published numbers of kernels, edges and FLOP (Ko et al.,
// "DFModel", and the logs of its code), and the layers of today's models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "flopcast/workload/dataflow.h"

namespace flopcast::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TransformerShape kGpt3{
    .hidden = 12288, .heads = 96, .head_dim = 128, .sequence = 2048, .ffn = 49152};
constexpr TransformerShape kGrouped{.hidden = 64,
                                    .heads = 8,
                                    .head_dim = 16,
                                    .kv_heads = 2,
                                    .sequence = 32,
                                    .ffn = 96,
                                    .gated = true,
                                    .dropout = false};

const DataflowKernel& kernel(const DataflowGraph& graph, std::string_view name) {
  const Result<std::uint32_t> at = graph.find(name);
  EXPECT_TRUE(at) << name;
  return graph.kernels[at ? *at : 0];
}

/// "scores left": who reads a kernel's output, and how.
std::set<std::string> readers(const DataflowGraph& graph, std::string_view producer) {
  std::set<std::string> words;
  for (const DataflowTensor& tensor : graph.tensors) {
    if (graph.kernels[tensor.producer].name != producer) continue;
    for (const DataflowUse& use : tensor.uses) {
      words.insert(graph.kernels[use.kernel].name + " " + std::string(name(use.operand)));
    }
  }
  return words;
}

double work_of(const char* name) {
  const Result<DataflowWorkload> workload = load_dataflow(name);
  EXPECT_TRUE(workload) << name;
  return workload->graph.work().value * static_cast<double>(workload->layers) *
         static_cast<double>(workload->global_batch);
}

TEST(PublishedTransformers, HaveTheirFlop) {
  const std::map<const char*, double> published{{"gpt3-175b", 1.6874003603411436e18},
                                                {"gpt3-1t", 3.85072240461978e19},
                                                {"gpt-100t", 6.764429993937459e21}};
  for (const auto& [name, flop] : published) {
    EXPECT_NEAR(work_of(name) / flop, 1, 1e-12) << name;
  }
}

// The serving logs divide FLOP by 16 or 4 chips; norms, residuals and dropouts over `hidden` run on
// each of them in full.
TEST(PublishedTransformers, LlamasServingLogsHaveTheirComputeTime) {
  const auto per_chip_ns = [](const char* name, double chips) {
    const DataflowGraph graph = load_dataflow(name)->graph;
    double flop = 0;
    for (const DataflowKernel& k : graph.kernels) {
      const bool replicated = k.m == 4096 && k.k == 0 && k.outer == 1;
      flop += k.work().value / (replicated ? 1 : chips);
    }
    return flop / (0.9 * 638976.0095);
  };
  EXPECT_NEAR(per_chip_ns("llama3-8b-dfmodel:decode", 16) / 54.78432917170895, 1, 1e-7);
  EXPECT_NEAR(per_chip_ns("llama3-8b-dfmodel:prefill", 4) / 777419.4961896178, 1, 1e-7);
}

// Memory of the decoding log: 16639.99975 ns on 16 chips at 1638.4 GB/s.
TEST(PublishedTransformers, DecodingReadsWeightsAndCache) {
  Bytes traffic;
  const DataflowGraph graph = load_dataflow("llama3-8b-dfmodel:decode")->graph;
  for (const DataflowKernel& k : graph.kernels) traffic += k.traffic;
  EXPECT_NEAR(traffic.value / 16 / 1638.4 / 16639.99975204468, 1, 1e-7);
}

TEST(TransformerGraph, HasThePublishedKernelsAndEdges) {
  const auto counts = [](const DataflowGraph& graph) {
    EXPECT_TRUE(check_dataflow(graph)) << graph.name;
    return std::pair(graph.kernels.size(), graph.uses());
  };
  EXPECT_EQ(counts(transformer_forward(kGpt3)), std::pair(18ul, 21ul));
  EXPECT_EQ(counts(transformer_training(kGpt3)), std::pair(41ul, 53ul));
  TransformerShape decode = kGpt3;
  decode.sequence = 1;
  decode.context = 2049;
  EXPECT_EQ(counts(transformer_decode(decode)), std::pair(20ul, 23ul));
}

TEST(TransformerGraph, ForwardKernelsInThePublishedOrder) {
  std::vector<std::string> names;
  for (const DataflowKernel& k : transformer_forward(kGpt3).kernels) names.push_back(k.name);
  EXPECT_THAT(names,
              ElementsAre("residual_in", "norm_1", "q", "k", "v", "scores", "softmax", "dropout_1",
                          "context", "out_proj", "dropout_2", "residual_1", "norm_2", "ffn_up",
                          "gelu", "ffn_down", "dropout_3", "residual_2"));
}

// What the paper's inter-chip pass shards and moves.
TEST(TransformerGraph, SizesOfAGpt3Layer) {
  const DataflowGraph graph = transformer_forward(kGpt3);
  const DataflowKernel& q = kernel(graph, "q");
  EXPECT_THAT((std::array{q.outer, q.m, q.n, q.k}), ElementsAre(96, 128, 2048, 12288));
  EXPECT_EQ(q.weight.value, 301989888);
  EXPECT_EQ(kernel(graph, "ffn_down").weight.value, 1207959552);
  EXPECT_EQ(graph.weights().value, 3623878656);
  std::map<std::string, double> bytes;
  for (const DataflowTensor& tensor : graph.tensors) bytes[tensor.name] = tensor.bytes.value;
  EXPECT_EQ(bytes.size(), 18u);
  EXPECT_EQ(bytes["norm_1"], 50331648);
  EXPECT_EQ(bytes["softmax"], 805306368);
  EXPECT_EQ(bytes["ffn_up"], 201326592);
}

TEST(TransformerGraph, TensorsAreReadAsTheMathematicsHasThem) {
  const DataflowGraph graph = transformer_training(kGpt3);
  using Words = std::set<std::string>;
  EXPECT_EQ(readers(graph, "norm_1"), (Words{"q right", "k right", "v right", "q_grad right_t",
                                             "k_grad right_t", "v_grad right_t"}));
  EXPECT_EQ(readers(graph, "k"), (Words{"scores left", "scores_bwd1 left"}));
  EXPECT_EQ(readers(graph, "q"), (Words{"scores right", "scores_bwd2 left"}));
  EXPECT_EQ(readers(graph, "v"), (Words{"context left", "context_bwd1 left"}));
  EXPECT_EQ(readers(graph, "dropout_1"), (Words{"context right", "context_bwd2 right"}));
  EXPECT_EQ(readers(graph, "gelu_bwd"), (Words{"ffn_up_bwd right", "ffn_up_grad left_t"}));
  EXPECT_EQ(readers(graph, "residual_2"), Words{});
  EXPECT_EQ(readers(graph, "residual_1"), (Words{"norm_2 pointwise", "residual_2 pointwise"}));
}

TEST(TransformerGraph, EveryWeightHasAGradientOfItsSize) {
  for (const TransformerShape& shape : {kGpt3, kGrouped}) {
    const DataflowGraph graph = transformer_training(shape);
    std::size_t gradients = 0;
    for (const DataflowKernel& k : graph.kernels) {
      if (k.backward || k.weight.value == 0) continue;
      const DataflowKernel& gradient = kernel(graph, k.name + "_grad");
      EXPECT_EQ(gradient.gradient, k.weight) << k.name;
      EXPECT_EQ(gradient.work(), k.work()) << k.name;
      EXPECT_EQ(gradient.tiled, KernelDimension::kK);
      EXPECT_EQ(kernel(graph, k.name + "_bwd").work(), k.work()) << k.name;
      ++gradients;
    }
    EXPECT_EQ(gradients, shape.gated ? 7u : 6u);
  }
}

TEST(TransformerGraph, GroupedQueriesAndGate) {
  const DataflowGraph graph = transformer_training(kGrouped);
  EXPECT_TRUE(check_dataflow(graph));
  EXPECT_EQ(kernel(graph, "k").outer, 2);
  EXPECT_EQ(kernel(graph, "k").weight.value, 2 * 16 * 64 * 2);
  EXPECT_EQ(kernel(graph, "scores").outer, 8);
  for (const DataflowTensor& tensor : graph.tensors) {
    if (tensor.name == "k" || tensor.name == "v") {
      EXPECT_EQ(tensor.bytes.value, 2 * 16 * 32 * 2);
    }
    if (tensor.name == "q") {
      EXPECT_EQ(tensor.bytes.value, 8 * 16 * 32 * 2);
    }
  }
  EXPECT_EQ(
      readers(graph, "ffn_gate"),
      (std::set<std::string>{"gelu pointwise", "gelu_bwd pointwise", "gelu_gate_bwd pointwise"}));
  EXPECT_EQ(readers(graph, "softmax"),
            (std::set<std::string>{"context right", "context_bwd2 right"}))
      << "no dropout between";
  EXPECT_FALSE(graph.find("dropout_1"));
}

TEST(TransformerDecode, OneTokenAgainstItsCache) {
  TransformerShape shape = kGrouped;
  shape.sequence = 1;
  shape.context = 101;
  const DataflowGraph one = transformer_decode(shape);
  const DataflowKernel& scores = kernel(one, "scores");
  EXPECT_THAT((std::array{scores.outer, scores.m, scores.n, scores.k}), ElementsAre(8, 101, 1, 16));
  EXPECT_EQ(kernel(one, "k_cache").traffic.value, 100 * 2 * 16 * 2);
  EXPECT_EQ(kernel(one, "k_cache").work().value, 0);
  EXPECT_EQ(kernel(one, "q").traffic, kernel(one, "q").weight);
  // Weights are read once for all samples; every sample has a cache of its own.
  const DataflowGraph four = at_microbatch(one, 4);
  EXPECT_EQ(kernel(four, "q").traffic, kernel(one, "q").traffic);
  EXPECT_EQ(kernel(four, "v_cache").traffic, kernel(one, "v_cache").traffic * 4);
}

TEST(Unroll, JoinsLayersEndToEnd) {
  const DataflowGraph forward = unroll(transformer_forward(kGpt3), 3);
  EXPECT_TRUE(check_dataflow(forward));
  EXPECT_EQ(forward.kernels.size(), 54u);
  EXPECT_EQ(forward.uses(), 3 * 21u + 2);
  EXPECT_EQ(forward.kernels[18].name, "residual_in@1");
  EXPECT_EQ(readers(forward, "residual_2@0"), std::set<std::string>{"residual_in@1 pointwise"});
  EXPECT_EQ(readers(forward, "residual_2@2"), std::set<std::string>{});
  EXPECT_EQ(kernel_levels(forward).back(),
            3 * kernel_levels(transformer_forward(kGpt3)).back() + 2);
  EXPECT_EQ(unroll(transformer_forward(kGpt3), 1), transformer_forward(kGpt3));
}

TEST(Unroll, BackwardCopiesRunInReverse) {
  const DataflowGraph graph = unroll(transformer_training(kGpt3), 2);
  EXPECT_TRUE(check_dataflow(graph));
  EXPECT_EQ(graph.kernels.size(), 82u);
  EXPECT_EQ(graph.uses(), 2 * 53u + 1 + 3);
  EXPECT_EQ(graph.kernels[36].name, "loss_bwd@1");
  EXPECT_EQ(graph.kernels[36 + 23].name, "loss_bwd@0");
  for (const char* gradient : {"q_bwd@1", "k_bwd@1", "v_bwd@1"}) {
    EXPECT_EQ(readers(graph, gradient), std::set<std::string>{"loss_bwd@0 pointwise"}) << gradient;
  }
  EXPECT_EQ(readers(graph, "residual_2@0"), std::set<std::string>{"residual_in@1 pointwise"});
}

TEST(TransformerWorkload, TakesDenseModelsAsTheyAre) {
  const Result<DataflowWorkload> decode = load_dataflow("llama-3-70b:decode", {.sequence = 8192});
  ASSERT_TRUE(decode);
  EXPECT_EQ(decode->layers, 80);
  EXPECT_EQ(decode->tokens, 1);
  EXPECT_EQ(decode->boundary.value, 8192 * 2);
  EXPECT_EQ(kernel(decode->graph, "k").outer, 8);
  EXPECT_EQ(kernel(decode->graph, "scores").m, 8193);
  EXPECT_TRUE(decode->graph.find("ffn_gate"));
  // Its layers hold all parameters but embedding, head and norms.
  const Result<Model> model = load_model("llama-3-70b");
  const double weights = decode->graph.weights().value / 2 * 80;
  const Parameters parameters = count_parameters(*model);
  EXPECT_NEAR(
      weights / static_cast<double>(parameters.total - parameters.embedding - parameters.head), 1,
      1e-4);
}

TEST(TransformerWorkload, EveryModelIsAGraphOrSaysWhyNot) {
  std::size_t graphs = 0;
  for (const Model& model : builtin_models()) {
    for (const DataflowPass pass : {DataflowPass::kForward, DataflowPass::kTraining,
                                    DataflowPass::kPrefill, DataflowPass::kDecode}) {
      const Result<DataflowWorkload> workload = transformer_workload(model, pass, 128, 16);
      if (!workload) {
        EXPECT_THAT(workload.error().text(), HasSubstr(model.name));
        continue;
      }
      ++graphs;
      EXPECT_TRUE(check_dataflow(workload->graph)) << model.name;
      EXPECT_EQ(workload->training, pass == DataflowPass::kTraining);
    }
  }
  EXPECT_GT(graphs, 100u);
  const auto why_not = [](const char* name) {
    const Result<DataflowWorkload> workload =
        transformer_workload(*load_model(name), DataflowPass::kForward, 128, 16);
    return workload ? "a graph" : workload.error().what;
  };
  EXPECT_THAT(why_not("mixtral-8x7b"), HasSubstr("experts"));
  EXPECT_THAT(why_not("palm-540b"), HasSubstr("side by side"));
}

TEST(TransformerWorkload, RefusesEmptySequencesAndBatches) {
  const Model model = *load_model("llama-3-8b");
  EXPECT_FALSE(transformer_workload(model, DataflowPass::kForward, 0, 1));
  EXPECT_FALSE(transformer_workload(model, DataflowPass::kForward, 1, 0));
}

}  // namespace
}  // namespace flopcast::workload
