// Operators of the feed-forward block: dense, or a router and its experts.
#include <algorithm>

#include "workload/operators/builder.h"

namespace flopcast::workload {
namespace {

struct MlpNames {
  std::string_view up, gate, activation, down;  ///< gate: where it is a product of its own
};
constexpr MlpNames kDense = {"gate_up_proj", "gate_proj", "activation", "down_proj"};
constexpr MlpNames kPlain = {"up_proj", "", "activation", "down_proj"};
constexpr MlpNames kShared = {"shared_up_proj", "shared_gate_proj", "shared_activation",
                              "shared_down_proj"};

/// @param saves_input false where the router keeps it. @param gathers false where the attention of
/// a parallel layer has gathered the same input.
void add_dense(OperatorBuilder& b, const FeedForward& mlp, const MlpNames& names, bool saves_input,
               bool gathers) {
  const bool adapters = b.run.lora_mlp;
  // Gate and up are one product, unless one of the two runs again.
  const bool apart = mlp.gated && b.recomputes(kRecomputeSecondProduct);
  Linear up{.name = names.up,
            .in = b.h,
            .out = (mlp.gated && !apart ? 2 : 1) * mlp.intermediate,
            .bias = mlp.bias,
            .adapters = adapters,
            .saves_input = saves_input,
            .communicates = gathers,
            .input_module = kRecomputeNorm};
  if (apart) {
    up.name = names.gate;
    b.linear(up);
    b.last().recomputed = b.recomputes(kRecomputeMlp);
    up.name = names.up;
    up.saves_input = up.communicates = false;
  }
  b.linear(up);
  b.last().recomputed = b.recomputes(kRecomputeMlp) || apart;
  b.activation(names.activation, mlp.gated, b.t, share(mlp.intermediate, b.n),
               kRecomputeSecondProduct);
  b.linear({.name = names.down,
            .in = mlp.intermediate,
            .out = b.h,
            .cut = Cut::kRow,
            .bias = mlp.bias,
            .adapters = adapters,
            .input_module = kRecomputeMlp | kRecomputeActivation});
  b.last().recomputed = b.recomputes(kRecomputeMlp);
  if (mlp.vectors > 0) b.own(b.last(), mlp.vectors);
  if (b.run.idle_outputs && b.recomputes(kRecomputeSecondProduct)) {
    b.save(b.last(), b.element * static_cast<double>(b.t * b.h));
  }
}

void add_router(OperatorBuilder& b, const Experts& e) {
  Operator& op = b.begin("router");
  const std::int64_t choices = e.count + e.idle;
  const double logits = 4 * static_cast<double>(b.u) * static_cast<double>(choices);
  const GemmType type = b.unquantized();
  op.forward.push_back({Kernel{Gemm{b.u, choices, b.h, 1, type}}});
  op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kSoftmax, b.u, choices, logits, logits)}});
  op.backward_input.push_back(
      {Kernel{b.memory_bound(MemoryOp::kSoftmax, b.u, choices, 2 * logits, logits, true)}});
  op.backward_input.push_back({Kernel{Gemm{b.u, b.h, choices, 1, type}}});
  if (b.run.lora_rank == 0) {
    op.backward_weight.push_back({Kernel{Gemm{choices, b.h, b.u, 1, type}}});
  }
  b.own(op, choices * (b.h + (e.router_bias ? 1 : 0)) + (e.shared_gate ? b.h : 0) + e.vectors);
  b.save(op, b.element * static_cast<double>(b.u * b.h), kRecomputeNorm);
  b.save(op, logits);
}

/// Rows that leave (or come back to) this chip, and pass over its neighbours' experts.
struct Routed {
  const Experts* experts = nullptr;
  std::int64_t width = 0;  ///< of a row
  std::int64_t sent = 0;   ///< u k
  std::int64_t rows = 0;   ///< r = u k etp
  double sent_bytes = 0, row_bytes = 0;
};

/// Values of a row that experts work on: hidden, or what it is compressed to.
std::int64_t row_width(const OperatorBuilder& b, const Experts& e) {
  return e.latent > 0 ? e.latent : b.h;
}

Routed routed(const OperatorBuilder& b, const Experts& e) {
  Routed r;
  r.experts = &e;
  r.width = row_width(b, e);
  r.sent = b.u * e.top_k;
  r.rows = r.sent * b.run.etp;
  r.sent_bytes = b.element * static_cast<double>(r.sent) * static_cast<double>(r.width);
  r.row_bytes = r.sent_bytes * b.run.etp;
  return r;
}

/// Copies rows to the order of their experts, sends them, sorts what has come.
void dispatch(const OperatorBuilder& b, const Routed& r, std::vector<OperatorStep>& steps,
              bool backward) {
  const MemoryBound sort =
      b.memory_bound(MemoryOp::kMoeDispatch, r.sent, r.width, r.sent_bytes, r.sent_bytes, backward);
  steps.push_back({Kernel{sort}});
  b.route(steps, *r.experts, r.sent_bytes);
  b.send(steps, CollectiveOp::kAllGather, Group::kExpertTensor, r.row_bytes);
  if (b.run.ep > 1) steps.push_back({Kernel{sort}});
}

/// The way back: k rows become the sum of one token.
void combine(const OperatorBuilder& b, const Routed& r, std::vector<OperatorStep>& steps,
             bool backward) {
  if (b.run.ep > 1) {
    steps.push_back({Kernel{b.memory_bound(MemoryOp::kMoeDispatch, r.sent, r.width, r.sent_bytes,
                                           r.sent_bytes, backward)}});
  }
  b.send(steps, CollectiveOp::kReduceScatter, Group::kExpertTensor, r.row_bytes);
  b.route(steps, *r.experts, r.sent_bytes);
  steps.push_back(
      {Kernel{b.memory_bound(MemoryOp::kMoeCombine, r.sent, r.width, r.sent_bytes,
                             b.element * static_cast<double>(b.u * r.width), backward)}});
}

/// The products of the chip's experts, one after the other or in one kernel: a batch of products of the
/// rows an expert gets.
struct ExpertProducts {
  std::int64_t rows = 0, width = 0, up = 0, local = 0;  ///< of one expert; experts of the chip
  GemmType type = GemmType::kBf16;
  void add(std::vector<OperatorStep>& steps, std::int64_t m, std::int64_t n, std::int64_t k) const {
    steps.push_back({Kernel{Gemm{m, n, k, local, type}}});
  }
};

ExpertProducts expert_products(const OperatorBuilder& b, const Experts& e) {
  const std::int64_t local = share(e.count, b.run.ep);
  const std::int64_t width = share(e.expert.intermediate, b.run.etp);
  return {share(b.u * e.top_k * b.run.etp, local), width, (e.expert.gated ? 2 : 1) * width, local,
          gemm_type(b.run.precision)};
}

/// Each expert adds its own vector to its rows, behind the product; its gradient is the rows' sum.
void add_expert_bias(const OperatorBuilder& b, std::int64_t rows, std::int64_t width,
                     Operator& experts) {
  const double bytes = b.element * static_cast<double>(rows) * static_cast<double>(width);
  experts.forward.push_back({Kernel{b.memory_bound(MemoryOp::kAdd, rows, width, bytes, bytes)}});
  if (b.run.lora_rank > 0) return;
  experts.backward_weight.push_back(
      {Kernel{b.memory_bound(MemoryOp::kAdd, rows, width, bytes, 0, true)}});
}

/// Bytes of a value that kernels apart read and write.
struct EagerTraffic {
  double read = 0, written = 0;
};

void add_eager(const OperatorBuilder& b, std::vector<OperatorStep>& steps, std::int64_t rows,
               std::int64_t width, const EagerTraffic& bytes, bool backward) {
  const double values = static_cast<double>(rows) * static_cast<double>(width);
  steps.push_back({Kernel{b.memory_bound(MemoryOp::kElementWise, rows, width, bytes.read * values,
                                         bytes.written * values, backward)}});
}

/// Limits of the two halves and putting them together again; Megatron-Core, fused_bias_geglu.py. Of a value of one half.
void add_clamp(const OperatorBuilder& b, std::int64_t rows, std::int64_t width, Operator& experts) {
  add_eager(b, experts.forward, rows, width, {4 * b.element, 4 * b.element}, false);
  add_eager(b, experts.backward_input, rows, width, {6 * b.element, 4 * b.element}, true);
}

/// The second product's bias times the row's weight, in 32 bits, expert by expert, put together and rounded;
/// Megatron-Core, TEGroupedMLP._apply_bias.
void add_weighted_bias(const OperatorBuilder& b, std::int64_t rows, std::int64_t width,
                       Operator& experts) {
  const double e = b.element;
  add_eager(b, experts.forward, rows, width, {e + 12, 12 + e}, false);
  add_eager(b, experts.backward_input, rows, width, {e + 20, e + 12}, true);
}

/// The gated activation of experts by operators of PyTorch: silu, an offset added to the other half, their product,
/// that times the rows' weights in 32 bits, rounded (Megatron-Core, experts.py: activation_func_with_probs). What backward
/// reads of it, each keeps: three outputs beside both halves of the input.
void take_activation_apart(OperatorBuilder& b, std::int64_t rows, std::int64_t width,
                           Operator& activation) {
  constexpr double kKept = 3;
  const double e = b.element;
  activation.forward.clear(), activation.backward_input.clear();
  add_eager(b, activation.forward, rows, width, {5 * e + 4, 4 * e + 4}, false);
  add_eager(b, activation.backward_input, rows, width, {10 * e + 16, 6 * e + 12}, true);
  b.save(activation, kKept * e * static_cast<double>(rows) * static_cast<double>(width),
         kRecomputeMlp);
}

std::int64_t expert_weights(const OperatorBuilder& b, const Experts& e) {
  const std::int64_t width = share(e.expert.intermediate, b.run.etp);
  const std::int64_t up = e.expert.gated ? 2 : 1;
  const std::int64_t hidden = row_width(b, e);
  const std::int64_t one = (up + 1) * hidden * width + (e.expert.bias ? up * width + hidden : 0);
  return share(e.count, b.run.ep) * one;
}

void add_experts(OperatorBuilder& b, const Experts& e) {
  const Routed r = routed(b, e);
  const std::int64_t width = share(e.expert.intermediate, b.run.etp);
  Operator& out = b.begin("dispatch");
  dispatch(b, r, out.forward, false);
  combine(b, r, out.backward_input, true);
  out.recomputed = b.recomputes(kRecomputeMlp);

  Operator& experts = b.begin("experts");
  b.quantize(experts.forward, r.rows, r.width, false);
  const ExpertProducts products = expert_products(b, e);
  products.add(experts.forward, products.rows, products.up, r.width);
  b.quantize(experts.forward, r.rows, products.width, false);
  products.add(experts.forward, products.rows, r.width, products.width);
  b.quantize(experts.backward_input, r.rows, r.width, true);
  products.add(experts.backward_input, products.rows, products.width, r.width);
  b.quantize(experts.backward_input, r.rows, products.up, true);
  products.add(experts.backward_input, products.rows, r.width, products.up);
  if (b.run.lora_rank == 0) {
    products.add(experts.backward_weight, r.width, products.width, products.rows);
    products.add(experts.backward_weight, products.up, r.width, products.rows);
  }
  experts.expert = true;
  if (e.expert.bias) {
    add_expert_bias(b, r.rows, products.up, experts);
    add_weighted_bias(b, r.rows, r.width, experts);
  }
  if (e.expert.clamped) add_clamp(b, r.rows, products.width, experts);
  b.own(experts, expert_weights(b, e));
  if (b.run.lora_rank == 0) {
    const double kept = b.input_bytes();
    const auto rows = static_cast<double>(r.rows);
    b.save(experts, kept * rows * static_cast<double>(r.width), kRecomputeMlp);
    b.save(experts, kept * rows * static_cast<double>(width), kRecomputeMlp | kRecomputeActivation);
  }
  // Recomputing activations alone repeats the cheap kernel below, not these products.
  experts.recomputed = b.recomputes(kRecomputeMlp);
  b.activation("expert_activation", e.expert.gated, r.rows, width);
  b.last().expert = true;
  if (b.run.apart_activations && e.expert.gated) take_activation_apart(b, r.rows, width, b.last());

  Operator& back = b.begin("combine");
  back.gradients = Bytes{r.sent_bytes + r.row_bytes};
  combine(b, r, back.forward, false);
  dispatch(b, r, back.backward_input, true);
  back.recomputed = b.recomputes(kRecomputeMlp);
}

}  // namespace

void add_feed_forward(OperatorBuilder& b, const Layer& layer) {
  const bool shares_norm = layer.parallel && layer.norms == 1;
  if (!shares_norm) {
    // Its input is a sum with the attention's output projection, if that is in the same stream.
    // Over several chips it comes out of a reduce-scatter, which is kept.
    const bool again = layer.attention.heads > 0 && !layer.parallel && !b.shards_sequence;
    b.norm("mlp_norm", layer.norm, b.u, b.h, again ? kRecomputeSecondProduct : 0);
    b.last().recomputed = b.recomputes(kRecomputeNorm);
  }
  if (layer.experts.count > 0) {
    add_router(b, layer.experts);
    if (layer.experts.shared.intermediate > 0) {
      add_dense(b, layer.experts.shared, kShared, false, true);
    }
    if (layer.experts.latent > 0) {
      b.linear({.name = "latent_down_proj",
                .in = b.h,
                .out = layer.experts.latent,
                .cut = Cut::kWhole,
                .saves_input = false});
    }
    add_experts(b, layer.experts);
    if (layer.experts.latent > 0) {
      b.linear(
          {.name = "latent_up_proj", .in = layer.experts.latent, .out = b.h, .cut = Cut::kWhole});
    }
  } else if (layer.mlp.intermediate > 0) {
    add_dense(b, layer.mlp, layer.mlp.gated ? kDense : kPlain, !shares_norm, !shares_norm);
  }
  if (layer.side > 0) {
    b.linear({.name = "side_down_proj", .in = b.h, .out = layer.side, .cut = Cut::kWhole});
    b.activation("side_activation", false, b.u, layer.side);
    b.linear({.name = "side_up_proj", .in = layer.side, .out = b.h, .cut = Cut::kWhole});
  }
  if (layer.norms >= 3) b.norm("post_mlp_norm", layer.norm, b.u, b.h);
  b.residual_add("mlp_add", layer.parallel ? 3 : 2);
  if (layer.vectors > 0) b.own(b.last(), layer.vectors);
}

}  // namespace flopcast::workload
