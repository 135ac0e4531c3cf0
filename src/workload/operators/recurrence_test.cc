// Recurrences, sparse attention and layers of one block: FLOPs, bytes and what is kept, against the
// counts of docs/theory/transformers.md.
#include <gtest/gtest.h>

#include <utility>

#include "workload/operators/testing.h"

namespace flopcast::workload {
namespace {

using namespace test;

Flops scan_flops(const OperatorGraph& graph, std::size_t kind) {
  return total_work(find(graph.layers[kind], "scan").forward).matrix;
}

// Mamba-2: 2 C N groups + (4 N P + 2 C P) heads a token.
TEST(Recurrence, StateSpaceFlopsAndStates) {
  Execution run;
  run.sequence = 8192;
  const OperatorGraph graph = make_operators(model_named("nemotron-h-8b"), run);
  const double t = 8192, heads = 128, groups = 8, state = 128, width = 64, chunk = 128;
  EXPECT_DOUBLE_EQ(
      scan_flops(graph, 0).value,
      t * (2 * chunk * state * groups + (4 * state * width + 2 * chunk * width) * heads));
  const Operator& scan = find(graph.layers[0], "scan");
  EXPECT_TRUE(scan.scans);
  EXPECT_EQ(scan.weights, 3 * 128);
  // Channels x + B + C in 16 bits, a step per head in 32.
  EXPECT_DOUBLE_EQ(scan.saved.value, t * (2 * (heads * width + 2 * groups * state) + 4 * heads));
  // States in 32 bits, read and written once a chunk.
  double handed = 0;
  for (const OperatorStep& step : scan.forward) {
    const Kernel& kernel = std::get<Kernel>(step.what);
    if (std::holds_alternative<MemoryBound>(kernel)) handed += kernel_bytes(kernel).value;
  }
  EXPECT_DOUBLE_EQ(handed, 2 * 4 * (t / chunk) * heads * state * width);
}

// Gated delta rule: 6 C N + 4 C P + 6 N P a head and token.
TEST(Recurrence, GatedDeltaFlops) {
  Execution run;
  run.sequence = 4096;
  const OperatorGraph graph = make_operators(model_named("qwen3-next-80b-a3b"), run);
  const double t = 4096, heads = 32, keys = 128, values = 128, chunk = 64;
  EXPECT_DOUBLE_EQ(scan_flops(graph, 0).value,
                   t * heads * (6 * chunk * keys + 4 * chunk * values + 6 * keys * values));
  const Operator& conv = find(graph.layers[0], "conv");
  const double channels = 2 * 16 * 128 + 32 * 128;
  EXPECT_EQ(conv.weights, 4 * 8192);
  EXPECT_DOUBLE_EQ(total_work(conv.forward).traffic.value, 2 * 2 * t * channels);
  EXPECT_DOUBLE_EQ(conv.saved.value, 2 * t * channels);
  const Operator& gate = find(graph.layers[1], "output_gate");
  EXPECT_DOUBLE_EQ(total_work(gate.forward).traffic.value, 2 * t * 3 * 16 * 256);
}

TEST(Recurrence, TimeGrowsWithTokensNotWithTheirSquare) {
  const Model model = model_named("qwen3-next-80b-a3b");
  const auto flops = [&](std::int64_t sequence, std::size_t kind) {
    Execution run;
    run.sequence = sequence;
    return matrix_flops(make_operators(model, run).layers[kind], false);
  };
  EXPECT_NEAR(flops(65536, 0) / flops(8192, 0), 8, 1e-9);
  EXPECT_GT(flops(65536, 1) / flops(8192, 1), 10);
}

// Backward is both gradients and the states once more.
TEST(Recurrence, BackwardMakesStatesAgain) {
  Execution run;
  run.sequence = 4096;
  for (const char* name : {"qwen3-next-80b-a3b", "nemotron-h-8b"}) {
    const OperatorGraph graph = make_operators(model_named(name), run);
    const Operator& scan = find(graph.layers[0], "scan");
    const double forward = total_work(scan.forward).matrix.value;
    const double backward = total_work(scan.backward_input).matrix.value;
    EXPECT_GT(backward, 2 * forward) << name;
    EXPECT_LT(backward, 3 * forward) << name;
  }
}

TEST(Recurrence, HeadsAreSharedOutOverTensorAndContextChips) {
  const Model model = model_named("qwen3-next-80b-a3b");
  Execution run;
  run.sequence = 8192;
  const double whole = matrix_flops(make_operators(model, run).layers[0], false);
  run.tp = 2;
  run.cp = 4;
  run.sequence_parallel = true;
  const OperatorGraph graph = make_operators(model, run);
  EXPECT_NEAR(matrix_flops(graph.layers[0], false) * 8 / whole, 1, 0.01);
  const Operator& scan = find(graph.layers[0], "scan");
  const double t = 8192.0 / 4, inputs = 2 * t * 8192 / 2 + 4 * t * 2 * 32 / 2,
               outputs = 2 * t * 4096 / 2;
  double sent_bytes = total_work(scan.forward).sent.value;
  EXPECT_DOUBLE_EQ(sent_bytes, inputs + outputs);
}

TEST(Recurrence, CountsAsAttentionInModelFlops) {
  const Model model = model_named("nemotron-h-8b");
  const Parameters parameters = count_parameters(model);
  const TrainingFlops flops = training_flops(model, 8192);
  const double products = static_cast<double>(parameters.total - parameters.embedding);
  EXPECT_NEAR(flops.linear.value / (6 * products * 8192), 1, 1e-3);
  EXPECT_GT(flops.attention.value, 0);
  EXPECT_GT(flops.attention_square.value, flops.attention.value);
}

// Nemotron-H: a layer is one block, with one norm and one sum.
TEST(OneBlockLayers, HaveTheOperatorsOfTheirBlock) {
  const OperatorGraph graph = make_operators(model_named("nemotron-h-8b"), {});
  const auto names = [&](std::size_t kind) {
    std::string all;
    for (const Operator& op : graph.layers[kind].operators) all += std::string(op.name) + " ";
    return all;
  };
  EXPECT_EQ(names(0), "attention_norm in_proj conv scan gated_norm out_proj attention_add ");
  EXPECT_EQ(names(1), "mlp_norm up_proj activation down_proj mlp_add ");
  EXPECT_EQ(names(2), "attention_norm qkv_proj core_attention out_proj attention_add ");
}

// DeepSeek-V3.2: every query scores all keys with 64 small heads, and attends to 2,048 of them in the
// compressed space.
TEST(SparseAttention, ScoresAllAndAttendsToTheBest) {
  const Model model = model_named("deepseek-v3.2");
  Execution run;
  run.sequence = 65536;
  const OperatorGraph graph = make_operators(model, run);
  const OperatorList& layer = graph.layers[0];
  const double s = 65536, pairs = s * s / 2, seen = s * 2048 - 2048.0 * 2048 / 2;
  EXPECT_NEAR(total_work(find(layer, "index_scores").forward).matrix.value / (2 * 64 * 128 * pairs),
              1, 1e-3);
  const auto& core = kernel_of<Attention>(find(layer, "core_attention").forward[0]);
  EXPECT_EQ(core.kv_length, 2048 - 32);  // the first tokens see fewer
  EXPECT_EQ(core.kv_heads, 1);
  EXPECT_EQ(core.window, 0);
  EXPECT_NEAR(total_work(find(layer, "core_attention").forward).matrix.value /
                  (2 * 128 * (576 + 512) * seen),
              1, 0.005);
  EXPECT_EQ(find(layer, "index_q_proj").weights, 1536 * 64 * 128);
  // Against DeepSeek-V3, which attends to all.
  const OperatorGraph dense = make_operators(model_named("deepseek-v3"), run);
  EXPECT_LT(matrix_flops(layer, false), 0.6 * matrix_flops(dense.layers[0], false));
}

TEST(SparseAttention, ShortSequencesAreAttendedWhole) {
  Execution run;
  run.sequence = 2048;
  const OperatorGraph sparse = make_operators(model_named("deepseek-v3.2"), run);
  const OperatorGraph dense = make_operators(model_named("deepseek-v3"), run);
  const auto core = [](const OperatorGraph& graph) {
    return total_work(find(graph.layers[0], "core_attention").forward).matrix.value;
  };
  EXPECT_DOUBLE_EQ(core(sparse), core(dense));
}

TEST(OneProduct, MakesKeysAndValues) {
  const Model model = model_named("gemma-4-31b");
  const OperatorGraph graph = make_operators(model, {});
  EXPECT_EQ(model.kinds[1].attention.head_dim, 512);
  EXPECT_EQ(find(graph.layers[1], "qkv_proj").weights, 5376 * 512 * (32 + 4));
  EXPECT_EQ(find(graph.layers[0], "qkv_proj").weights, 5376 * 256 * (32 + 2 * 16));
}

TEST(NarrowEmbedding, IsProjectedBothWays) {
  const OperatorGraph graph = make_operators(model_named("opt-350m"), {});
  EXPECT_EQ(find(graph.embedding, "embedding").weights, 50272 * 512);
  EXPECT_EQ(find(graph.embedding, "embedding_proj").weights, 512 * 1024);
  EXPECT_EQ(find(graph.head, "head_proj").weights, 512 * 1024);
  EXPECT_FALSE(has(graph.head, "final_norm"));
}

}  // namespace
}  // namespace flopcast::workload
