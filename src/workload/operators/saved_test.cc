// Operators: what they keep for backward and what they send, against published formulas.
#include <gtest/gtest.h>

#include <string>

#include "workload/operators/testing.h"

namespace flopcast::workload {
namespace {

using namespace test;

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

// torchtitan's "op": outputs of attention and of wq, wv and w1 of wq wk wv wo w1 w3 w2, and the
// layer's input. That of w2, which backward never asks for, stays in the cache of an eager run.
TEST(Activations, OfEverySecondProduct) {
  const Model model = model_named("llama-3-8b");
  Execution run;
  run.sequence = 8192;
  const OperatorGraph none = make_operators(model, run);
  run.recompute = Recompute::kSelective;
  run.recompute_modules = kRecomputeOp;
  const OperatorGraph graph = make_operators(model, run);
  const OperatorList& layer = graph.layers[0];
  const double t = 8192, h = 4096, gd = 8 * 128, f = 14336, heads = 32;
  EXPECT_DOUBLE_EQ(layer.saved.value, t * (2 * (3 * h + gd + f) + 4 * heads));
  Execution eager = run;
  eager.idle_outputs = true;
  EXPECT_DOUBLE_EQ(make_operators(model, eager).layers[0].saved.value,
                   layer.saved.value + t * 2 * h);
  EXPECT_DOUBLE_EQ(layer.live.value, none.layers[0].live.value);
  EXPECT_EQ(layer.weights(), none.layers[0].weights());
  double all = 0, again = 0, before = 0;
  for (const Operator& op : layer.operators) {
    all += total_work(op.forward).matrix.value;
    if (op.recomputed) again += total_work(op.forward).matrix.value;
  }
  for (const Operator& op : none.layers[0].operators) {
    before += total_work(op.forward).matrix.value;
  }
  EXPECT_DOUBLE_EQ(all, before);
  EXPECT_DOUBLE_EQ(again, 2 * t * (h * gd + h * h + h * f));
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

// What torch.nn.Linear keeps under DTensor and torchao: its input, all tokens of it, in 16 bits.
TEST(Activations, WholeInputsAreGatheredAndWide) {
  const Model model = model_named("llama-3-70b");
  Execution run;
  run.sequence = 8192, run.tp = 8, run.sequence_parallel = true;
  run.precision = Precision::kFp8;
  const double t = 8192, h = 8192, f = 28672;
  const OperatorGraph parts = make_operators(model, run);
  EXPECT_DOUBLE_EQ(find(parts.layers[0], "qkv_proj").saved.value, t / 8 * h);
  EXPECT_DOUBLE_EQ(find(parts.layers[0], "down_proj").saved.value, t * f / 8);
  run.whole_inputs = true;
  const OperatorGraph whole = make_operators(model, run);
  EXPECT_DOUBLE_EQ(find(whole.layers[0], "qkv_proj").saved.value, 2 * t * h);
  EXPECT_DOUBLE_EQ(find(whole.layers[0], "down_proj").saved.value, 2 * t * f / 8);
  // Attention and the output projection share the context then.
  EXPECT_DOUBLE_EQ(find(parts.layers[0], "core_attention").saved.value -
                       find(whole.layers[0], "core_attention").saved.value,
                   2 * t * h / 8);
}

// A Llama layer is fullest behind the gated activation: all that it keeps but the input of the last product, which is done;
// gradients of the activation's output and both its inputs; and the gradient of the stream.
TEST(Activations, PeakHoldsGradients) {
  const Model model = model_named("llama-3-8b");
  Execution run;
  run.sequence = 8192;
  const double t = 8192, h = 4096, f = 14336;
  const OperatorGraph none = make_operators(model, run);
  const double keeps = none.layers[0].live.value;
  EXPECT_DOUBLE_EQ(none.layers[0].peak.value, keeps + 2 * t * (-f + 3 * f + h));
  run.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(make_operators(model, run).layers[0].peak.value,
                   none.layers[0].peak.value + 2 * t * h);
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

// Rows in 8 or 4 bits are quantised before they are gathered; what is summed stays in 16.
TEST(Transfers, NarrowRowsAreGatheredNarrow) {
  const Model model = model_named("gpt-3-175b");
  const double bsh = 2.0 * 2048 * 12288;
  const auto gathered = [&](Precision precision, bool whole, bool forward) {
    Execution run;
    run.tp = 8;
    run.sequence_parallel = true;
    run.precision = precision;
    run.whole_inputs = whole;
    const Sent all = sent(make_operators(model, run).layers[0], forward);
    EXPECT_DOUBLE_EQ(all.at("reduce_scatter tensor"), 2 * bsh);
    return all.at("all_gather tensor") / bsh;
  };
  EXPECT_DOUBLE_EQ(gathered(Precision::kBf16, false, true), 2);
  EXPECT_DOUBLE_EQ(gathered(Precision::kFp8, false, true), 2 * 0.5);
  EXPECT_DOUBLE_EQ(gathered(Precision::kFp8, false, false), 4 * 0.5);
  EXPECT_DOUBLE_EQ(gathered(Precision::kMxfp8, false, true), 2 * (0.5 + 1.0 / 64));
  EXPECT_DOUBLE_EQ(gathered(Precision::kNvfp4, false, true), 2 * (0.25 + 1.0 / 32));
  // PyTorch keeps its inputs gathered, and gathers scales for each row in 16 bits.
  EXPECT_DOUBLE_EQ(gathered(Precision::kFp8, true, false), 2 * 0.5);
  EXPECT_DOUBLE_EQ(gathered(Precision::kFp8Block, true, false), 2);
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

// One causal step, and of the later ones two at a time: as many pairs of query and key as ever.
TEST(Transfers, RingStepsRunTwoAtATime) {
  Execution run;
  run.sequence = 8192;
  run.context = ContextKind::kRing;
  for (const unsigned chips : {2U, 3U, 8U}) {
    run.cp = chips;
    const OperatorGraph graph = make_operators(model_named("llama-3-70b"), run);
    const Operator& core = find(graph.layers[0], "core_attention");
    double pairs = 0;
    unsigned launches = 0;
    for (const OperatorStep& step : core.forward) {
      if (!std::holds_alternative<Kernel>(step.what)) continue;
      const auto& k = kernel_of<Attention>(step);
      const double all = static_cast<double>(k.batch * k.query_length * k.kv_length);
      pairs += step.count * (k.causal ? all / 2 : all);
      launches += step.count;
    }
    const double own = 8192.0 / chips;
    EXPECT_NEAR(pairs, own * own / 2 * chips, own * chips) << chips;
    EXPECT_EQ(launches, 1 + chips / 2) << chips;
  }
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
  const auto& gemm = kernel_of<Gemm>(find(graph.layers[0], "experts").forward[0]);
  EXPECT_EQ(gemm.m * gemm.batch, 2048 * 2 * 2);
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
  // Inputs of the norms and of the adapted products, queries, keys, values and statistics, both
  // halves of the feed-forward: the context once.
  const double h = 8192, gd = 8 * 128, f = 28672, heads = 64;
  EXPECT_DOUBLE_EQ(graph.layers[0].saved.value,
                   8192 * (2 * (2 * h + h + h + 2 * gd + h + 2 * f) + 4 * heads));
}

// Output and gradient of the input of adapted products are each a sum of two, read and written once more.
TEST(Adapters, AddToTheLayersProducts) {
  Execution run;
  run.sequence = 8192;
  run.lora_rank = 16;
  const OperatorGraph graph = make_operators(model_named("llama-2-70b"), run);
  const auto added = [&](std::string_view op, bool backward) {
    const Operator& found = find(graph.layers[0], op);
    double bytes = 0;
    for (const OperatorStep& step : backward ? found.backward_input : found.forward) {
      const Kernel& kernel = std::get<Kernel>(step.what);
      if (const auto* moved = std::get_if<MemoryBound>(&kernel)) {
        bytes += (moved->read + moved->written).value;
      }
    }
    return bytes;
  };
  const double t = 8192, h = 8192, qkv = (64 + 16) * 128;
  EXPECT_DOUBLE_EQ(added("qkv_proj", false), 3 * 2 * t * qkv);
  EXPECT_DOUBLE_EQ(added("qkv_proj", true), 3 * 2 * t * h);
  EXPECT_DOUBLE_EQ(added("gate_up_proj", false), 0);
}

// Copies along columns are for gradients of weights (Transformer Engine, backward_needs_input).
TEST(Adapters, QuantiseAlongRowsAlone) {
  const auto copied = [](std::int64_t rank) {
    Execution run;
    run.precision = Precision::kFp8;
    run.lora_rank = rank;
    const OperatorGraph graph = make_operators(model_named("llama-3-8b"), run);
    const Kernel& first =
        std::get<Kernel>(find(graph.layers[0], "gate_up_proj").forward.front().what);
    return std::get<MemoryBound>(first).written.value;
  };
  EXPECT_DOUBLE_EQ(copied(16), 2048.0 * 4096);
  EXPECT_DOUBLE_EQ(copied(0), 2 * copied(16));
}

}  // namespace
}  // namespace flopcast::workload
