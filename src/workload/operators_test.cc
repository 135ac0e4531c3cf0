// Operators against published formulas: parameters, FLOPs, activation memory, communication.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "flopcast/workload_operators.h"

namespace flopcast {
namespace {

Model model_named(const std::string& name) { return *load_model(name); }

double matrix_flops(const OperatorList& list, bool with_recompute) {
  double sum = 0;
  for (const Operator& op : list.operators) {
    const double forward = total_work(op.forward).matrix.value;
    sum += (with_recompute && op.recomputed ? 2 : 1) * forward;
    sum += total_work(op.backward_input).matrix.value;
    sum += total_work(op.backward_weight).matrix.value;
  }
  return sum;
}

const Operator& find(const OperatorList& list, std::string_view name) {
  for (const Operator& op : list.operators) {
    if (op.name == name) return op;
  }
  ADD_FAILURE() << "no operator " << name;
  return list.operators.front();
}

bool has(const OperatorList& list, std::string_view name) {
  for (const Operator& op : list.operators) {
    if (op.name == name) return true;
  }
  return false;
}

template <typename T>
const T& kernel_of(const Step& step) {
  return std::get<T>(std::get<Kernel>(step.what));
}

/// Bytes sent by operation and group, forward and backward.
std::map<std::string, double> sent(const OperatorList& list, bool forward) {
  std::map<std::string, double> bytes;
  const auto add = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const Transfer* transfer = std::get_if<Transfer>(&step.what);
      if (transfer == nullptr) continue;
      bytes[std::string(name(transfer->op)) + " " + std::string(name(transfer->group))] +=
          transfer->size.value * step.count;
    }
  };
  for (const Operator& op : list.operators) {
    if (forward) {
      add(op.forward);
    } else {
      add(op.backward_input);
      add(op.backward_weight);
    }
  }
  return bytes;
}
using Sent = std::map<std::string, double>;

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
  const Model model = model_named("qwen3-235b-a22b");
  Execution run;
  run.microbatch = 2;
  run.sequence = 4096;
  const double whole = matrix_flops(make_operators(model, run).layers[0], false);
  run.tp = 4;
  run.sequence_parallel = true;
  run.cp = 2;
  run.ep = 8;
  for (const ContextKind context :
       {ContextKind::kAllGather, ContextKind::kRing, ContextKind::kUlysses}) {
    run.context = context;
    const double part = matrix_flops(make_operators(model, run).layers[0], false);
    EXPECT_NEAR(part * 8 / whole, 1, 1e-3) << static_cast<int>(context);
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

// --- Activation memory --------------------------------------------------------------------------

// Korthikanti et al. (arXiv:2205.05198), equations 1, 2, 4 and section 5, per layer.
TEST(Activations, AreKorthikantisFormulas) {
  for (const char* name : {"megatron-22b", "gpt-3-175b", "megatron-529.6b"}) {
    const Model model = model_named(name);
    const double b = 4, s = 2048, h = static_cast<double>(model.hidden);
    const double a = static_cast<double>(model.kinds[0].attention.heads);
    const double scores = 5 * a * s / h;
    Execution run;
    run.microbatch = 4;
    run.flash_attention = false;
    const auto saved = [&] { return make_operators(model, run).layers[0].saved.value; };
    EXPECT_DOUBLE_EQ(saved(), s * b * h * (34 + scores)) << name;
    run.tp = 8;
    EXPECT_DOUBLE_EQ(saved(), s * b * h * (10 + 24 / 8.0 + scores / 8)) << name;
    run.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(saved(), s * b * h / 8 * (34 + scores)) << name;
    run.recompute = Recompute::kSelective;
    EXPECT_DOUBLE_EQ(saved(), s * b * h / 8 * 34) << name;
    run.recompute = Recompute::kFull;
    EXPECT_DOUBLE_EQ(saved(), s * b * h * 2 / 8) << name;  // the layer's input
  }
}

// Section 4.3 there: embedding dropout, and input, norm and fp32 logits of the output.
TEST(Activations, OfBothEndsAreKorthikantis) {
  const Model model = model_named("megatron-22b");
  Execution run;
  run.microbatch = 4;
  run.tp = 8;
  run.sequence_parallel = true;
  const OperatorGraph graph = make_operators(model, run);
  const double sbh_t = 2048.0 * 4 * 6144 / 8;
  EXPECT_DOUBLE_EQ(graph.embedding.saved.value, sbh_t);
  EXPECT_DOUBLE_EQ(graph.head.saved.value, 4 * sbh_t * (1 + 51200.0 / 6144));
}

// A Llama layer with flash attention: norm and projection inputs 2 + 2, q 2, k and v 4 g/a,
// softmax statistics 4 a/h, context 2; norm and up inputs 2 + 2, both halves 4 f/h, product 2 f/h.
TEST(Activations, OfALlamaLayer) {
  const Model model = model_named("llama-3-70b");
  Execution run;
  run.sequence = 8192;
  const double sbh = 8192.0 * 8192;
  const double expected =
      sbh * (2 + 2 + 2 + 4 * 8 / 64.0 + 4 * 64 / 8192.0 + 2 + 2 + 2 + 6 * 28672 / 8192.0);
  EXPECT_DOUBLE_EQ(make_operators(model, run).layers[0].saved.value, expected);
}

TEST(Activations, LowPrecisionKeepsLinearInputsSmall) {
  const Model model = model_named("llama-3-8b");
  Execution run;
  run.sequence = 8192;
  const double bf16 = find(make_operators(model, run).layers[0], "qkv_proj").saved.value;
  run.precision = Precision::kMxfp8;
  const OperatorGraph graph = make_operators(model, run);
  EXPECT_DOUBLE_EQ(find(graph.layers[0], "qkv_proj").saved.value, bf16 / 2 * (1 + 1 / 32.0));
  // The context is kept in bf16 by attention and in fp8 by the projection.
  EXPECT_GT(find(graph.layers[0], "core_attention").saved.value, 2.0 * 8192 * 4096 * 2);
}

TEST(Activations, SelectiveModulesDropWhatTheyName) {
  const Model model = model_named("deepseek-v3");
  Execution run;
  run.sequence = 4096;
  run.tp = 2;
  run.sequence_parallel = true;
  const OperatorGraph none = make_operators(model, run);
  run.recompute = Recompute::kSelective;
  const auto with = [&](unsigned modules) {
    run.recompute_modules = static_cast<std::uint8_t>(modules);
    return make_operators(model, run);
  };
  const auto dropped = [&](unsigned modules, std::string_view op) {
    return find(none.layers[1], op).saved.value - find(with(modules).layers[1], op).saved.value;
  };
  const double t = 4096, u = 2048, rows = 2048 * 8;
  EXPECT_DOUBLE_EQ(dropped(kRecomputeLatentUp, "core_attention"), 2 * t * 64 * (192 + 192 + 128));
  EXPECT_DOUBLE_EQ(dropped(kRecomputeNorm, "q_down_proj"), 2 * u * 7168);
  EXPECT_DOUBLE_EQ(dropped(kRecomputeNorm, "router"), 2 * u * 7168);
  EXPECT_DOUBLE_EQ(dropped(kRecomputeActivation, "experts"), 2 * rows * 2048);
  EXPECT_DOUBLE_EQ(dropped(kRecomputeMlp, "experts"), 2 * rows * (7168 + 2048));
  EXPECT_TRUE(find(with(kRecomputeMlp).layers[1], "experts").recomputed);
  EXPECT_FALSE(find(with(kRecomputeActivation).layers[1], "experts").recomputed);
  EXPECT_TRUE(find(with(kRecomputeActivation).layers[1], "expert_activation").recomputed);
  EXPECT_DOUBLE_EQ(with(kRecomputeMlp).layers[1].live.value, none.layers[1].saved.value);
}

// --- Communication ------------------------------------------------------------------------------

TEST(Transfers, TensorParallelSumsTwiceEachWay) {
  const Model model = model_named("gpt-3-175b");
  Execution run;
  run.tp = 8;
  const double bsh = 2.0 * 2048 * 12288;
  const OperatorGraph plain = make_operators(model, run);
  EXPECT_EQ(sent(plain.layers[0], true), (Sent{{"all_reduce tensor", 2 * bsh}}));
  EXPECT_EQ(sent(plain.layers[0], false), (Sent{{"all_reduce tensor", 2 * bsh}}));
  EXPECT_EQ(plain.boundary.value, bsh);
  run.sequence_parallel = true;
  const OperatorGraph sharded = make_operators(model, run);
  EXPECT_EQ(sent(sharded.layers[0], true),
            (Sent{{"all_gather tensor", 2 * bsh}, {"reduce_scatter tensor", 2 * bsh}}));
  // Backward gathers the inputs of qkv and up once more for their weight gradients.
  EXPECT_EQ(sent(sharded.layers[0], false),
            (Sent{{"all_gather tensor", 4 * bsh}, {"reduce_scatter tensor", 2 * bsh}}));
  EXPECT_EQ(sharded.boundary.value, bsh / 8);
}

TEST(Transfers, ParallelLayersSumOnce) {
  const Model model = model_named("palm-540b");
  Execution run;
  run.tp = 4;
  const double bsh = 2.0 * 2048 * 18432;
  const OperatorGraph graph = make_operators(model, run);
  EXPECT_EQ(sent(graph.layers[0], true), (Sent{{"all_reduce tensor", bsh}}));
  EXPECT_EQ(sent(graph.layers[0], false), (Sent{{"all_reduce tensor", bsh}}));
}

TEST(Transfers, ContextParallelKinds) {
  const Model model = model_named("llama-3-70b");
  Execution run;
  run.sequence = 8192;
  run.cp = 4;
  const double kv = 2.0 * 8192 * 8 * 256;  // keys and values of a whole sequence
  const double q = 2.0 * 2048 * 64 * 128;  // queries (or context) of this chip
  EXPECT_EQ(sent(make_operators(model, run).layers[0], true), (Sent{{"all_gather context", kv}}));
  EXPECT_EQ(sent(make_operators(model, run).layers[0], false),
            (Sent{{"all_gather context", kv}, {"reduce_scatter context", kv}}));
  run.context = ContextKind::kRing;
  EXPECT_EQ(sent(make_operators(model, run).layers[0], true),
            (Sent{{"send_recv context", 3 * kv / 4}}));
  run.context = ContextKind::kUlysses;
  EXPECT_EQ(sent(make_operators(model, run).layers[0], true),
            (Sent{{"all_to_all context", q + kv / 4 + q}}));
}

// Rows leave for their experts and come back, k per token, forward and backward.
TEST(Transfers, ExpertsExchangeTokens) {
  const Model model = model_named("mixtral-8x7b");
  Execution run;
  run.sequence = 4096;
  run.tp = 2;
  run.sequence_parallel = true;
  run.ep = 8;
  run.etp = 2;
  const double rows = 2.0 * 2048 * 2 * 4096;  // u k h, two bytes each
  Sent all = sent(make_operators(model, run).layers[0], true);
  EXPECT_EQ(all["all_to_all expert"], 2 * rows);
  EXPECT_EQ(all["all_gather expert_tensor"], 2 * rows);
  EXPECT_EQ(all["reduce_scatter expert_tensor"], 2 * rows);
  all = sent(make_operators(model, run).layers[0], false);
  EXPECT_EQ(all["all_to_all expert"], 2 * rows);
  const OperatorGraph graph = make_operators(model, run);
  const auto& gemm = kernel_of<GroupedGemm>(find(graph.layers[0], "experts").forward[0]);
  EXPECT_EQ(gemm.tokens * gemm.top_k / gemm.expert_parallel, 2048 * 2 * 2);
}

// Wu et al. / Optimus: per product, activations travel along rows of the grid, weights along
// columns; two of each in a backward pass.
TEST(Transfers, SummaSendsBothOperandsInPanels) {
  const Model model = model_named("gpt-3-175b");
  Execution run;
  run.tensor = TensorKind::kSumma;
  run.tp = 4;
  run.tp2 = 2;
  run.panels = 3;
  const OperatorGraph graph = make_operators(model, run);
  const Operator& up = find(graph.layers[0], "up_proj");
  EXPECT_EQ(up.weights, 12288 / 2 * (49152 / 4) + 49152 / 4);
  const double activations = 2.0 * 1024 * 12288, weights = 2.0 * 12288 * (49152 / 4);
  EXPECT_DOUBLE_EQ(total_work(up.forward).sent.value, activations + weights);
  EXPECT_DOUBLE_EQ(total_work(up.backward_input).sent.value, activations + weights);
  EXPECT_DOUBLE_EQ(total_work(up.backward_weight).sent.value, activations + weights);
  EXPECT_EQ(up.forward[0].count, 3u);
  const double flops = total_work(up.forward).matrix.value;
  EXPECT_DOUBLE_EQ(flops, 2.0 * 2048 * 12288 * 49152 / 8);
}

TEST(Transfers, TwoDimensionalGathersKeysAndValues) {
  const Model model = model_named("vit-era5");
  Execution run;
  run.sequence = 64800;
  run.tensor = TensorKind::kTwoD;
  run.tp = 4;
  run.tp2 = 4;
  Sent all = sent(make_operators(model, run).layers[0], true);
  EXPECT_EQ(all["all_gather tensor2"], 2.0 * 64800 * 2 * 12288 / 4);
  EXPECT_EQ(all["all_gather tensor"], 2 * 2.0 * 64800 / 4 * 12288);
}

TEST(Transfers, LossExchangesThreeNumbersPerToken) {
  const Model model = model_named("llama-3-8b");
  Execution run;
  run.tp = 4;
  const OperatorGraph graph = make_operators(model, run);
  EXPECT_DOUBLE_EQ(total_work(find(graph.head, "loss").forward).sent.value, 3 * 4.0 * 2048);
}

// --- Adapters -----------------------------------------------------------------------------------

// Rank 16 on query-key-value and output projections of Llama 2 70B, as MLPerf's fine-tuning task.
TEST(Adapters, FreezeAllElse) {
  const Model model = model_named("llama-2-70b");
  Execution run;
  run.sequence = 8192;
  run.lora_rank = 16;
  const OperatorGraph graph = make_operators(model, run);
  const std::int64_t qkv = 8192 + (64 + 16) * 128, out = 8192 + 8192;
  EXPECT_EQ(graph.layers[0].trainable(), 16 * (qkv + out));
  EXPECT_EQ(graph.embedding.trainable() + graph.head.trainable(), 0);
  EXPECT_EQ(graph.layers[0].weights(), layer_parameters(model.kinds[0], 8192) + 16 * (qkv + out));
  // No weight gradient but the adapters', and no input kept that only it would need.
  EXPECT_TRUE(find(graph.layers[0], "down_proj").backward_weight.empty());
  EXPECT_EQ(find(graph.layers[0], "down_proj").saved.value, 0);
  EXPECT_EQ(find(graph.layers[0], "qkv_proj").backward_weight.size(), 2u);
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
  const auto shape = [](const Step& step) {
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
  EXPECT_EQ(kernel_of<Gemm>(up.forward[1]).type, GemmType::kNvfp4);
  EXPECT_EQ(kernel_of<Gemm>(find(graph.head, "output_proj").forward[0]).type, GemmType::kBf16);
}

TEST(Operators, PrecisionNames) {
  for (int i = 0; i <= static_cast<int>(Precision::kNvfp4); ++i) {
    const auto precision = static_cast<Precision>(i);
    EXPECT_EQ(parse_precision(name(precision)), precision);
  }
  EXPECT_EQ(parse_precision("bf16-pure"), Precision::kBf16);
  EXPECT_EQ(parse_precision("FP8-CS"), Precision::kFp8);
  EXPECT_EQ(parse_precision("int3"), std::nullopt);
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

}  // namespace
}  // namespace flopcast
