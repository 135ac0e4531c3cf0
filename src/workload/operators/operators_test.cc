// Operators: weights and FLOPs against published formulas, shapes and bytes of each.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "workload/operators/testing.h"

namespace flopcast::workload {
namespace {

using namespace test;

// --- Weights ------------------------------------------------------------------------------------

TEST(Operators, HoldAllParametersOfEveryModel) {
  for (const Model& model : builtin_models()) {
    const OperatorGraph graph = make_operators(model, {});
    std::int64_t total = graph.embedding.weights() + graph.head.weights();
    for (std::size_t kind = 0; kind < graph.layers.size(); ++kind) {
      const std::int64_t layer = graph.layers[kind].weights();
      EXPECT_EQ(layer, layer_parameters(model.kinds[kind], model.hidden)) << model.name;
      total += layer * model.count(kind);
    }
    EXPECT_EQ(total, count_parameters(model).total) << model.name;
  }
}

TEST(Operators, TensorParallelCutsMatricesAndRepeatsNorms) {
  const Model model = model_named("llama-3-70b");
  Execution run;
  const std::int64_t whole = make_operators(model, run).layers[0].weights();
  run.tp = 8;
  const std::int64_t norms = 2 * 8192;
  EXPECT_EQ(make_operators(model, run).layers[0].weights(), (whole - norms) / 8 + norms);
}

TEST(Operators, ExpertsAreCutOverExpertAndExpertTensorChips) {
  const Model model = model_named("mixtral-8x7b");
  Execution run;
  run.ep = 4;
  run.etp = 2;
  const OperatorGraph graph = make_operators(model, run);
  const Operator& experts = find(graph.layers[0], "experts");
  EXPECT_TRUE(experts.expert);
  EXPECT_EQ(experts.weights, 2 * 3 * 4096 * 14336 / 2);
  EXPECT_FALSE(find(graph.layers[0], "router").expert);
}

// --- FLOPs --------------------------------------------------------------------------------------

// Narayanan et al. (SC 2021), equation 3: 96 B s l h^2 (1 + s / 6h + V / 16 l h), layers recomputed
// whole, all pairs of tokens counted.
TEST(Flops, AreMegatronsFormulaWithFullRecompute) {
  for (const char* name : {"megatron-1.7b", "megatron-145.6b", "megatron-1008b"}) {
    const Model model = model_named(name);
    Execution run;
    run.microbatch = 2;
    run.flash_attention = false;
    run.recompute = Recompute::kFull;
    const OperatorGraph graph = make_operators(model, run);
    const auto layers = static_cast<double>(model.layers());
    const double ours = layers * matrix_flops(graph.layers[0], true) +
                        matrix_flops(graph.head, true) + matrix_flops(graph.embedding, true);
    const double b = 2, s = 2048, h = static_cast<double>(model.hidden);
    const double v = static_cast<double>(model.vocab);
    const double formula = 96 * b * s * layers * h * h * (1 + s / (6 * h) + v / (16 * layers * h));
    EXPECT_NEAR(ours / formula, 1, 1e-12) << name;
  }
}

// Kaplan et al. (arXiv:2001.08361) 6 N D, N without embedding: exact but for norms.
TEST(Flops, AreSixPerWeightAndToken) {
  const Model model = model_named("llama-3.1-405b");
  const Parameters parameters = count_parameters(model);
  const double norms = (2.0 * 126 + 1) * 16384;
  const double weights = static_cast<double>(parameters.total - parameters.embedding) - norms;
  const TrainingFlops flops = training_flops(model, 8192);
  EXPECT_NEAR(flops.linear.value / (6 * weights * 8192), 1, 1e-12);
  const double square = 12.0 * 126 * 8192 * 8192 * 16384;
  EXPECT_NEAR(flops.attention_square.value / square, 1, 1e-12);
  EXPECT_NEAR(flops.attention / flops.attention_square, 0.5, 1e-3);  // the causal half
}

TEST(Flops, OfExpertsCountTheChosenOnes) {
  const Model model = model_named("deepseek-v3");
  const Parameters parameters = count_parameters(model);
  const TrainingFlops flops = training_flops(model, 4096);
  const double active = static_cast<double>(parameters.active - parameters.embedding);
  EXPECT_NEAR(flops.linear.value / (6 * active * 4096), 1, 1e-3);
}

TEST(Flops, DoNotDependOnHowAModelIsCut) {
  // Windows and chunks of a cut sequence are counted without their ragged first tokens.
  for (const auto& [name, slack] :
       {std::pair{"qwen3-235b-a22b", 1e-3}, std::pair{"gpt-oss-120b", 0.01},
        std::pair{"llama-4-scout", 0.01}, std::pair{"qwen3-next-80b-a3b", 0.01},
        std::pair{"deepseek-v3.2", 0.02}, std::pair{"gemma-4-31b", 0.01}}) {
    const Model model = model_named(name);
    Execution run;
    run.microbatch = 2;
    run.sequence = 32768;
    const double whole = matrix_flops(make_operators(model, run).layers[0], false);
    run.tp = 4;
    run.sequence_parallel = true;
    run.cp = 2;
    run.ep = 8;
    for (const ContextKind context :
         {ContextKind::kAllGather, ContextKind::kRing, ContextKind::kUlysses}) {
      run.context = context;
      const double part = matrix_flops(make_operators(model, run).layers[0], false);
      EXPECT_NEAR(part * 8 / whole, 1, slack) << name << " " << static_cast<int>(context);
    }
  }
}

TEST(Flops, WindowsAndChunksLimitAttention) {
  const Model model = model_named("gpt-oss-120b");
  Execution run;
  run.sequence = 8192;
  const OperatorGraph graph = make_operators(model, run);
  const double windowed = total_work(find(graph.layers[0], "core_attention").forward).matrix.value;
  const double full = total_work(find(graph.layers[1], "core_attention").forward).matrix.value;
  EXPECT_LT(windowed, 0.05 * full);
  const Model llama4 = model_named("llama-4-scout");
  run.sequence = 32768;
  const OperatorGraph chunked = make_operators(llama4, run);
  EXPECT_NEAR(total_work(find(chunked.layers[0], "core_attention").forward).matrix /
                  total_work(find(chunked.layers[1], "core_attention").forward).matrix,
              0.25, 0.01);
}

// --- Shapes -------------------------------------------------------------------------------------

TEST(Operators, NamesOfALayer) {
  const auto names = [](const char* model, std::size_t kind) {
    std::string all;
    const OperatorGraph graph = make_operators(model_named(model), {});
    for (const Operator& op : graph.layers[kind].operators) {
      all += std::string(op.name) + " ";
    }
    return all;
  };
  EXPECT_EQ(names("llama-3-8b", 0),
            "attention_norm qkv_proj rope core_attention out_proj attention_add mlp_norm "
            "gate_up_proj activation down_proj mlp_add ");
  EXPECT_EQ(names("phi-2", 0),
            "attention_norm qkv_proj rope core_attention out_proj up_proj activation down_proj "
            "mlp_add ");
  EXPECT_EQ(names("deepseek-v3", 1),
            "attention_norm q_down_proj q_norm q_up_proj kv_down_proj kv_norm kv_up_proj rope "
            "core_attention out_proj attention_add mlp_norm router shared_up_proj "
            "shared_activation shared_down_proj dispatch experts expert_activation combine "
            "mlp_add ");
  EXPECT_TRUE(has(make_operators(model_named("gemma-2-9b"), {}).layers[0], "post_mlp_norm"));
  EXPECT_TRUE(has(make_operators(model_named("bert-base"), {}).head, "head_dense"));
  EXPECT_TRUE(has(make_operators(model_named("vit-base"), {}).embedding, "patch_embedding"));
}

TEST(Operators, LinearShapes) {
  const Model model = model_named("llama-3-70b");
  Execution run;
  run.microbatch = 2;
  run.sequence = 8192;
  run.tp = 8;
  run.cp = 2;
  const OperatorGraph graph = make_operators(model, run);
  const Operator& qkv = find(graph.layers[0], "qkv_proj");
  const auto shape = [](const OperatorStep& step) {
    const Gemm& g = kernel_of<Gemm>(step);
    return std::array{g.m, g.n, g.k};
  };
  const std::int64_t t = 8192, out = 80 * 128 / 8;
  EXPECT_EQ(shape(qkv.forward[0]), (std::array{t, out, std::int64_t{8192}}));
  EXPECT_EQ(shape(qkv.backward_input[0]), (std::array{t, std::int64_t{8192}, out}));
  EXPECT_EQ(shape(qkv.backward_weight[0]), (std::array{out, std::int64_t{8192}, t}));
}

TEST(Operators, LatentAttentionShapes) {
  const OperatorGraph graph = make_operators(model_named("deepseek-v3"), {});
  const auto& core = kernel_of<Attention>(find(graph.layers[0], "core_attention").forward[0]);
  EXPECT_EQ(core.head_dim, (192 + 128) / 2);
  EXPECT_EQ(core.heads, 128);
  const auto& up = kernel_of<Gemm>(find(graph.layers[0], "kv_up_proj").forward[0]);
  EXPECT_EQ(up.n, 128 * (128 + 128));
  EXPECT_EQ(up.k, 512);
}

TEST(Operators, LowPrecisionAddsQuantisation) {
  Execution run;
  run.precision = Precision::kNvfp4;
  const OperatorGraph graph = make_operators(model_named("llama-3-8b"), run);
  const Operator& up = find(graph.layers[0], "gate_up_proj");
  EXPECT_EQ(kernel_of<MemoryBound>(up.forward[0]).op, MemoryOp::kQuantize);
  // Values are read in 16 bits, a copy along rows and one along columns written.
  const double values = 2048.0 * 4096, copy = 0.5 + 1.0 / 16;
  EXPECT_DOUBLE_EQ(kernel_of<MemoryBound>(up.forward[0]).read.value, 2 * values);
  EXPECT_DOUBLE_EQ(kernel_of<MemoryBound>(up.forward[0]).written.value, 2 * copy * values);
  EXPECT_EQ(kernel_of<Gemm>(up.forward[1]).type, GemmType::kNvfp4);
  EXPECT_EQ(kernel_of<Gemm>(find(graph.head, "output_proj").forward[0]).type, GemmType::kBf16);
}

TEST(Operators, PrecisionNames) {
  EXPECT_EQ(static_cast<std::size_t>(Precision::kInt8) + 1, kPrecisions);
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    EXPECT_EQ(parse_precision(name(precision)), precision);
  }
  EXPECT_EQ(parse_precision("bf16-pure"), Precision::kBf16);
  EXPECT_EQ(parse_precision("FP8-CS"), Precision::kFp8);
  EXPECT_EQ(parse_precision("int3"), std::nullopt);
}

// Twelve passes over queries and keys by operators where cosines are scaled, two by the fused kernel.
TEST(Operators, ScaledRotationIsNotFused) {
  Model model = model_named("gpt-oss-120b");
  const auto rope = [&] {
    const OperatorGraph graph = make_operators(model, {});
    return total_work(find(graph.layers[0], "rope").forward).traffic.value;
  };
  const double scaled = rope();
  for (Layer& kind : model.kinds) kind.attention.scaled_rotary = false;
  EXPECT_DOUBLE_EQ(scaled, 6 * rope());
}

TEST(Operators, BytesOfMemoryBoundKernels) {
  Execution run;
  run.tp = 2;
  run.sequence_parallel = true;
  const OperatorGraph graph = make_operators(model_named("llama-3-8b"), run);
  const double u = 1024, t = 2048, h = 4096;
  const auto traffic = [&](std::string_view op, bool backward) {
    const Operator& found = find(graph.layers[0], op);
    return total_work(backward ? found.backward_input : found.forward).traffic.value;
  };
  EXPECT_DOUBLE_EQ(traffic("attention_norm", false), 2 * u * h * 2);
  EXPECT_DOUBLE_EQ(traffic("attention_norm", true), 2 * u * h * 3);
  EXPECT_DOUBLE_EQ(traffic("attention_add", false), 2 * u * h * 3);
  EXPECT_DOUBLE_EQ(traffic("activation", false), 2 * t * 7168 * 3);
  EXPECT_DOUBLE_EQ(traffic("activation", true), 2 * t * 7168 * 5);
  EXPECT_DOUBLE_EQ(traffic("rope", false), 2 * t * (16 + 4) * 128 * 2);
  EXPECT_DOUBLE_EQ(total_work(find(graph.head, "loss").forward).traffic.value, t * 64128 * (2 + 4));
}

TEST(Operators, NormOfQueriesAndKeys) {
  const OperatorGraph graph = make_operators(model_named("qwen3-8b"), {});
  const Operator& norm = find(graph.layers[0], "qk_norm");
  const double values = 2048.0 * (32 + 8) * 128;
  EXPECT_DOUBLE_EQ(total_work(norm.forward).traffic.value, 2 * values * 2);
  EXPECT_DOUBLE_EQ(total_work(norm.backward_input).traffic.value, 2 * values * 3);
  EXPECT_DOUBLE_EQ(norm.saved.value, 2 * values);
  EXPECT_EQ(norm.weights, 2 * 128);
}

// The tables of docs/theory/transformers.md for experts and for both ends.
TEST(Experts, Counts) {
  Execution run;
  run.sequence = 4096;
  run.tp = 2;
  run.sequence_parallel = true;
  run.ep = 4;
  run.etp = 2;
  const OperatorGraph graph = make_operators(model_named("mixtral-8x7b"), run);
  const OperatorList& layer = graph.layers[0];
  const double u = 2048, h = 4096, e = 8, k = 2, f = 14336, r = u * k * 2;
  const auto forward = [&](std::string_view name) { return total_work(find(layer, name).forward); };
  EXPECT_DOUBLE_EQ(forward("router").matrix.value, 2 * u * e * h);
  EXPECT_DOUBLE_EQ(find(layer, "router").saved.value, 2 * u * h + 4 * u * e);
  EXPECT_EQ(find(layer, "router").weights, 8 * 4096);
  EXPECT_DOUBLE_EQ(forward("dispatch").traffic.value, 2 * (2 * 2 * u * k * h));
  EXPECT_DOUBLE_EQ(forward("dispatch").sent.value, 2 * u * k * h + 2 * r * h);
  EXPECT_DOUBLE_EQ(forward("experts").matrix.value, 6 * r * h * f / 2);
  EXPECT_DOUBLE_EQ(find(layer, "experts").saved.value, 2 * r * (h + f / 2));
  EXPECT_EQ(find(layer, "experts").weights, 2 * 3 * 4096 * 7168);
  EXPECT_DOUBLE_EQ(find(layer, "expert_activation").saved.value, 2 * 2 * r * f / 2);
  EXPECT_DOUBLE_EQ(forward("combine").traffic.value, 2 * 2 * u * k * h + 2 * (u * k * h + u * h));
  EXPECT_DOUBLE_EQ(forward("combine").sent.value, forward("dispatch").sent.value);
  EXPECT_DOUBLE_EQ(total_work(find(layer, "combine").backward_input).sent.value,
                   forward("dispatch").sent.value);
  EXPECT_DOUBLE_EQ(total_work(find(layer, "experts").backward_input).matrix.value +
                       total_work(find(layer, "experts").backward_weight).matrix.value,
                   2 * forward("experts").matrix.value);
}

// A chip multiplies the rows that come to it: the same whatever the size of its group, but for what
// the other chips' rows are.
TEST(Experts, AreABatchOfProductsOfAChipsOwnRows) {
  const Model model = model_named("deepseek-v3");
  Execution run;
  run.sequence = 4096;
  for (const unsigned ep : {8U, 64U}) {
    run.ep = ep;
    const OperatorGraph graph = make_operators(model, run);
    const Operator& experts = find(graph.layers.back(), "experts");
    ASSERT_EQ(experts.forward.size(), 2U);
    const auto& up = kernel_of<Gemm>(experts.forward[0]);
    const auto& down = kernel_of<Gemm>(experts.forward[1]);
    EXPECT_EQ(up.batch, 256 / ep);
    EXPECT_EQ(up.m * up.batch, 4096 * 8);
    EXPECT_EQ(std::pair(up.n, up.k), std::pair(std::int64_t{2 * 2048}, std::int64_t{7168}));
    EXPECT_EQ(std::pair(down.n, down.k), std::pair(std::int64_t{7168}, std::int64_t{2048}));
  }
}

// gpt-oss: each expert adds a vector behind both products, the second in 32 bits with its row's weight, and limits what
// its activation sees.
TEST(Experts, AddTheirVectors) {
  const Model model = model_named("gpt-oss-120b");
  Execution run;
  run.sequence = 4096;
  run.ep = 64;
  const OperatorGraph graph = make_operators(model, run);
  const Operator& experts = find(graph.layers[0], "experts");
  const double values = 4096 * 4 * 2880;
  const auto beside = [&](const std::vector<OperatorStep>& steps) {
    return total_work(steps).traffic.value - total_work({steps[0], steps[1]}).traffic.value;
  };
  const double bias = 2 * 2, limits = 2 * (2 + 2) * 2, weighted = 2 * (2 + 4 + 4 + 4);
  EXPECT_DOUBLE_EQ(beside(experts.forward), (2 * bias + weighted + limits) * values);
  const double back = 2 * (3 * 2 + 2 * 2), weighted_back = (2 + 5 * 4) + (2 + 3 * 4);
  EXPECT_DOUBLE_EQ(beside(experts.backward_input), (back + weighted_back) * values);
}

TEST(Experts, ActivationsApartReadWriteAndKeepMore) {
  const Model model = model_named("qwen3-30b-a3b");
  Execution run;
  run.sequence = 4096;
  run.ep = 8;
  const OperatorGraph fused = make_operators(model, run);
  run.apart_activations = true;
  const OperatorGraph apart = make_operators(model, run);
  const auto activation = [](const OperatorGraph& graph) -> const Operator& {
    return find(graph.layers[0], "expert_activation");
  };
  const double values = 4096 * 8 * 768;
  const auto moved = [&](const OperatorGraph& graph) {
    const Operator& op = activation(graph);
    return (total_work(op.forward).traffic + total_work(op.backward_input).traffic).value / values;
  };
  // Forward silu, offset, product, weights, rounding; backward rounding, weights and their gradient, product, silu, halves.
  const double forward = (2 + 2) + (2 + 2) + (4 + 2) + (2 + 4) + (4 + 2);
  const double backward = (2 + 4) + (4 + 4) + (4 + 2) + (6 + 4) + 4 + (8 + 4) + (4 + 2) + (4 + 4);
  EXPECT_DOUBLE_EQ(moved(fused), 16);
  EXPECT_DOUBLE_EQ(moved(apart), forward + backward);
  EXPECT_DOUBLE_EQ(activation(apart).saved.value - activation(fused).saved.value, 3 * 2 * values);
}

// DeepSeek-V3's module for one more token has 11.5 B weights of its own (its README_WEIGHTS.md); table and output matrix are shared.
TEST(Ends, PredictFurtherTokens) {
  const Model model = model_named("deepseek-v3");
  Execution run;
  const OperatorList without = make_operators(model, run).head;
  run.mtp_layers = 1;
  const OperatorGraph graph = make_operators(model, run);
  const std::int64_t own = graph.head.weights() - without.weights();
  const std::int64_t layer = layer_parameters(model.kinds[model.order.back()], model.hidden);
  EXPECT_EQ(own, layer + 2 * model.hidden * model.hidden + 3 * model.hidden);
  EXPECT_NEAR(static_cast<double>(own) / 1e9, 11.5, 0.15);
  // Its layer, two products more, and the output matrix once more.
  const auto work = [](const OperatorList& list) {
    double flops = 0;
    for (const Operator& op : list.operators) flops += total_work(op.forward).matrix.value;
    return flops;
  };
  const double t = 2048, h = 7168;
  EXPECT_DOUBLE_EQ(work(graph.head),
                   2 * work(without) + work(graph.layers[model.order.back()]) + 4 * t * h * h);
  EXPECT_GT(graph.head.saved.value,
            2 * without.saved.value + graph.layers[model.order.back()].saved.value);
  run.mtp_layers = 2;
  EXPECT_EQ(make_operators(model, run).head.weights(), without.weights() + 2 * own);
}

TEST(Ends, Counts) {
  Execution run;
  run.tp = 4;
  run.sequence_parallel = true;
  const OperatorGraph graph = make_operators(model_named("llama-3-8b"), run);
  const double t = 2048, u = 512, h = 4096, v = 128256;
  const Operator& embedding = find(graph.embedding, "embedding");
  EXPECT_DOUBLE_EQ(total_work(embedding.forward).traffic.value, 2 * 2 * t * h);
  EXPECT_EQ(sent(graph.embedding, true), (Sent{{"reduce_scatter tensor", 2 * t * h}}));
  EXPECT_EQ(sent(graph.embedding, false), (Sent{{"all_gather tensor", 2 * t * h}}));
  EXPECT_EQ(embedding.weights, 128256 / 4 * 4096);
  const Operator& output = find(graph.head, "output_proj");
  EXPECT_DOUBLE_EQ(total_work(output.forward).matrix.value, 2 * t * h * v / 4);
  EXPECT_DOUBLE_EQ(output.saved.value, 2 * u * h);
  EXPECT_DOUBLE_EQ(find(graph.head, "loss").saved.value, 4 * t * v / 4);
  EXPECT_EQ(find(make_operators(model_named("gpt2"), {}).head, "output_proj").weights, 0);
}

}  // namespace
}  // namespace flopcast::workload
