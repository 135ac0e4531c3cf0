// Operators of the attention block: projections, rotation, the attention itself with its context
// parallelism, and the way back into the stream.
#include <algorithm>

#include "workload/operators/builder.h"

namespace flopcast::workload {
namespace {

/// Attention as one chip runs it.
struct Core {
  const AttentionShape& shape;
  std::int64_t heads = 0, kv_heads = 0;  ///< on this chip
  std::int64_t queries = 0;              ///< tokens of a sequence whose queries are here
  std::int64_t keys = 0;                 ///< tokens of a sequence whose keys are here to begin with
  double key_value_bytes = 0;            ///< of these keys and values, all sequences
};

Core core_of(const OperatorBuilder& b, const AttentionShape& shape) {
  Core core{shape};
  core.heads = share(shape.heads, b.n);
  core.kv_heads = std::max<std::int64_t>(share(shape.kv_heads, b.n), 1);
  core.keys = share(b.run.sequence, b.run.cp);
  core.queries = share(core.keys, b.run.tp2);
  core.key_value_bytes = b.element * static_cast<double>(b.run.microbatch * core.keys) *
                         static_cast<double>(core.kv_heads * (shape.head_dim + shape.value_dim));
  return core;
}

Attention kernel(const OperatorBuilder& b, const Core& core, std::int64_t queries,
                 std::int64_t keys, bool causal) {
  Attention attention;
  attention.batch = b.run.microbatch;
  attention.query_length = queries;
  attention.kv_length = keys;
  attention.heads = core.heads;
  attention.kv_heads = core.kv_heads;
  // Scores cost head_dim, the context value_dim: their mean gives the FLOPs of both.
  attention.head_dim = (core.shape.head_dim + core.shape.value_dim) / 2;
  attention.window = core.shape.window;
  attention.causal = causal;
  attention.type = attention.kv_cache = b.type;
  if (core.shape.chunk > 0 && core.shape.chunk < keys && queries == keys) {
    attention.batch *= share(keys, core.shape.chunk);
    attention.query_length = attention.kv_length = core.shape.chunk;
  }
  return attention;
}

void add_kernel(Operator& op, Attention attention, unsigned count = 1) {
  op.forward.push_back({Kernel{attention}, count});
  attention.backward = true;
  op.backward_input.push_back({Kernel{attention}, count});
}

/// Sequences cut in 2c pieces of which each chip has one early and one late: every chip has the
/// same share of a causal triangle, queries x half of the keys.
std::int64_t visible_keys(const Core& core, std::int64_t keys) {
  std::int64_t visible = core.shape.causal ? share(keys, 2) : keys;
  if (core.shape.chunk > 0) visible = std::min(visible, share(core.shape.chunk, 2));
  if (core.shape.window > 0) visible = std::min(visible, core.shape.window);
  return visible;
}

/// Every query against `keys` keys. Kernels see at least as many keys as queries: where a window
/// leaves fewer, the queries are cut in pieces no longer than it.
Attention rectangle(const OperatorBuilder& b, const Core& core, std::int64_t keys) {
  Attention attention = kernel(b, core, core.queries, keys, false);
  attention.window = 0;  // `keys` counts the window
  if (keys < core.queries) {
    const std::int64_t pieces = share(core.queries, keys);
    attention.batch *= pieces;
    attention.query_length = share(core.queries, pieces);
  }
  return attention;
}

void gathered_attention(const OperatorBuilder& b, const Core& core, Operator& op) {
  const double all = core.key_value_bytes * b.run.cp;
  b.send(op.forward, CollectiveOp::kAllGather, Group::kContext, all);
  b.send(op.backward_input, CollectiveOp::kAllGather, Group::kContext, all);
  add_kernel(op, rectangle(b, core, visible_keys(core, b.run.sequence)));
  b.send(op.backward_input, CollectiveOp::kReduceScatter, Group::kContext, all);
}

void ring_attention(const OperatorBuilder& b, const Core& core, Operator& op) {
  const unsigned steps = b.run.cp - 1;
  const auto exchange = [&](std::vector<OperatorStep>& pass, double bytes) {
    pass.push_back(
        {Transfer{CollectiveOp::kSendRecv, Group::kContext, Bytes{bytes}, b.type}, steps});
  };
  exchange(op.forward, core.key_value_bytes);
  exchange(op.backward_input, 2 * core.key_value_bytes);  // and the gradients travel with them
  add_kernel(op, kernel(b, core, core.queries, core.keys, core.shape.causal));
  // Windows and chunks leave the later steps little or nothing to see.
  const std::int64_t beyond = visible_keys(core, b.run.sequence) - visible_keys(core, core.keys);
  if (beyond <= 0) return;
  const bool whole = core.shape.window == 0 && core.shape.chunk == 0;
  if (core.shape.causal && whole) {
    // Each later step is half of the queries against all of a chip's keys, or the other way round. Two of them run
    // at a time, on streams of their own (Transformer Engine, AttnFuncWithCPAndKVP2P), and fill the chip together.
    Attention step = kernel(b, core, share(core.queries, 2), core.keys, false);
    if (steps % 2 > 0) add_kernel(op, step);
    step.batch *= 2;
    if (steps > 1) add_kernel(op, step, steps / 2);
  } else {
    add_kernel(op, rectangle(b, core, share(beyond, steps)), steps);
  }
}

void ulysses_attention(const OperatorBuilder& b, const Core& core, Operator& op) {
  const double tokens = static_cast<double>(b.t) * b.element;
  const double in = tokens * static_cast<double>(core.heads * core.shape.head_dim) +
                    core.key_value_bytes / b.run.tp2;
  const double out = tokens * static_cast<double>(core.heads * core.shape.value_dim);
  Core cut = core;
  cut.heads = share(core.heads, b.run.cp);
  cut.kv_heads = std::max<std::int64_t>(share(core.kv_heads, b.run.cp), 1);
  b.send(op.forward, CollectiveOp::kAllToAll, Group::kContext, in, false);
  b.send(op.backward_input, CollectiveOp::kAllToAll, Group::kContext, out, false);
  add_kernel(op, kernel(b, cut, share(b.run.sequence, b.run.tp2), b.run.sequence,
                        core.shape.causal && b.run.tp2 == 1));
  b.send(op.forward, CollectiveOp::kAllToAll, Group::kContext, out, false);
  b.send(op.backward_input, CollectiveOp::kAllToAll, Group::kContext, in, false);
}

/// Scores in memory: two products, a softmax and dropout between them (Korthikanti et al.,
/// arXiv:2205.05198 section 4.1).
void unfused_attention(OperatorBuilder& b, const Core& core, Operator& op) {
  const std::int64_t batch = b.run.microbatch * core.heads;
  const std::int64_t rows = batch * core.queries, keys = b.run.sequence;
  const double scores = static_cast<double>(rows) * static_cast<double>(keys);
  const double bytes = b.element * scores;
  const auto product = [&](std::vector<OperatorStep>& steps, std::int64_t m, std::int64_t n,
                           std::int64_t k) {
    steps.push_back({Kernel{Gemm{m, n, k, batch, b.unquantized()}}});
  };
  const std::int64_t d = core.shape.head_dim, v = core.shape.value_dim, q = core.queries;
  product(op.forward, q, keys, d);
  op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kSoftmax, rows, keys, bytes, bytes)}});
  if (b.model.attention_dropout) {
    op.forward.push_back(
        {Kernel{b.memory_bound(MemoryOp::kElementWise, rows, keys, bytes, bytes + scores)}});
  }
  product(op.forward, q, v, keys);
  product(op.backward_input, q, keys, v);
  product(op.backward_input, keys, v, q);
  if (b.model.attention_dropout) {
    op.backward_input.push_back(
        {Kernel{b.memory_bound(MemoryOp::kElementWise, rows, keys, bytes + scores, bytes, true)}});
  }
  op.backward_input.push_back(
      {Kernel{b.memory_bound(MemoryOp::kSoftmax, rows, keys, 2 * bytes, bytes, true)}});
  product(op.backward_input, q, d, keys);
  product(op.backward_input, keys, d, q);
  const double dropout = b.model.attention_dropout ? scores + bytes : 0;
  b.save(op, bytes + dropout, kRecomputeCoreAttention);
}

/// Every query against the keys chosen for it, of all chips: as many on average as `index_top_k`, but
/// for the first tokens, which see fewer, and each itself.
void chosen_attention(const OperatorBuilder& b, const Core& core, Operator& op) {
  const double all = core.key_value_bytes * b.run.cp;
  b.send(op.forward, CollectiveOp::kAllGather, Group::kContext, all);
  b.send(op.backward_input, CollectiveOp::kAllGather, Group::kContext, all);
  const std::int64_t chosen = core.shape.index_top_k;
  const std::int64_t seen = chosen - share(chosen * chosen, 2 * b.run.sequence);
  add_kernel(op, rectangle(b, core, std::max<std::int64_t>(seen, 1)));
  b.send(op.backward_input, CollectiveOp::kReduceScatter, Group::kContext, all);
}

void add_core(OperatorBuilder& b, const AttentionShape& shape) {
  Core core = core_of(b, shape);
  if (shape.sparse()) {  // the latent vectors are keys, and most of them values, too
    core.key_value_bytes *=
        static_cast<double>(shape.head_dim) / static_cast<double>(shape.head_dim + shape.value_dim);
  }
  Operator& op = b.begin("core_attention");
  b.send(op.forward, CollectiveOp::kAllGather, Group::kTensor2, core.key_value_bytes, false);
  b.send(op.backward_input, CollectiveOp::kAllGather, Group::kTensor2, core.key_value_bytes, false);
  if (shape.sparse()) {
    chosen_attention(b, core, op);
  } else if (!b.run.flash_attention && b.run.cp == 1) {
    unfused_attention(b, core, op);
  } else if (b.run.cp == 1 && b.run.tp2 == 1) {
    add_kernel(op, kernel(b, core, core.queries, core.keys, shape.causal));
  } else if (b.run.cp == 1 || b.run.context == ContextKind::kAllGather) {
    gathered_attention(b, core, op);
  } else if (b.run.context == ContextKind::kRing) {
    ring_attention(b, core, op);
  } else {
    ulysses_attention(b, core, op);
  }
  b.send(op.backward_input, CollectiveOp::kReduceScatter, Group::kTensor2, core.key_value_bytes,
         false);
  const double tokens = static_cast<double>(b.t);
  const double context = tokens * static_cast<double>(core.heads * shape.value_dim);
  const double queries = b.element * tokens * static_cast<double>(core.heads * shape.head_dim);
  const double kept = core.key_value_bytes / b.run.tp2;
  const double keys = kept * static_cast<double>(shape.head_dim) /
                      static_cast<double>(shape.head_dim + shape.value_dim);
  b.save(op, queries + kept - keys, shape.latent() ? kRecomputeLatentUp : 0);
  b.save(op, keys, shape.latent() ? kRecomputeLatentUp : kRecomputeSecondProduct);
  if (b.run.flash_attention) {
    b.save(op, 4 * tokens * static_cast<double>(core.heads), kRecomputeCoreAttention);
  }
  // The output projection (or its adapter) keeps the context as its input, in its own precision.
  const bool kept_otherwise = b.input_bytes() >= b.element;
  if (!kept_otherwise) b.save(op, b.element * context, kRecomputeCoreAttention);
  op.gradients = Bytes{b.element * context + queries + kept};
  op.recomputed = b.recomputes(kRecomputeCoreAttention);
  if (shape.sinks) b.own(op, core.heads);
}

/// Where an indexer leaves out keys, no two tokens attend to the same: instead of keys and values of
/// each head the compressed ones are read, as wide for queries as for themselves (the up-projections
/// are as much work on queries and context as on keys and values).
AttentionShape attended(const OperatorBuilder& b, const AttentionShape& a) {
  AttentionShape shape = a;
  shape.index_top_k = 0;
  if (!a.sparse() || b.run.sequence <= a.index_top_k) return shape;
  shape.index_top_k = a.index_top_k;
  shape.kv_heads = 1;
  shape.head_dim = a.kv_rank + a.rope_dim;
  shape.value_dim = a.kv_rank;
  return shape;
}

void add_latent_projections(OperatorBuilder& b, const AttentionShape& a, NormKind norm) {
  const std::int64_t queries = a.heads * a.head_dim;
  if (a.q_rank > 0) {
    b.linear({.name = "q_down_proj",
              .in = b.h,
              .out = a.q_rank,
              .cut = Cut::kWhole,
              .adapters = true,
              .input_module = kRecomputeNorm});
    b.norm("q_norm", norm, b.u, a.q_rank);
    b.linear({.name = "q_up_proj", .in = a.q_rank, .out = queries, .adapters = true});
    b.last().recomputed = b.recomputes(kRecomputeLatentUp);
  } else {
    b.linear({.name = "q_proj",
              .in = b.h,
              .out = queries,
              .adapters = true,
              .input_module = kRecomputeNorm});
  }
  b.linear({.name = "kv_down_proj",
            .in = b.h,
            .out = a.kv_rank + a.rope_dim,
            .cut = Cut::kWhole,
            .adapters = true,
            .saves_input = false});
  b.norm("kv_norm", norm, b.u, a.kv_rank);
  b.linear({.name = "kv_up_proj",
            .in = a.kv_rank,
            .out = a.heads * (a.head_dim - a.rope_dim + a.value_dim),
            .adapters = true});
  b.last().recomputed = b.recomputes(kRecomputeLatentUp);
  if (!a.output_gate) return;
  b.linear({.name = "gate_proj",
            .in = b.h,
            .out = a.heads * a.value_dim,
            .saves_input = false,
            .communicates = false});
}

/// Queries, keys and values: one product, unless the keys' runs again.
void add_projections(OperatorBuilder& b, const AttentionShape& a) {
  Linear all{.name = "qkv_proj",
             .in = b.h,
             .out = a.projection_width(),
             .bias = a.qkv_bias,
             .adapters = true,
             .input_module = kRecomputeNorm};
  if (!b.recomputes(kRecomputeSecondProduct) || a.shares_keys) return b.linear(all);
  all.out = a.heads * (a.head_dim + (a.output_gate ? a.value_dim : 0));
  all.name = "q_proj";
  b.linear(all);
  all.saves_input = all.communicates = false;
  all.out = a.kv_heads * a.head_dim;
  all.name = "k_proj";
  b.linear(all);
  b.last().recomputed = true;
  if (a.keys_are_values) return;
  all.name = "v_proj";
  all.out = a.kv_heads * a.value_dim;
  b.linear(all);
}

/// The context, each value times its gate.
void add_output_gate(OperatorBuilder& b, const AttentionShape& a) {
  Operator& op = b.begin("output_gate");
  const std::int64_t width = share(a.heads * a.value_dim, b.n);
  const double bytes = b.element * static_cast<double>(b.t) * static_cast<double>(width);
  const double gates = a.output_gate ? bytes : bytes / static_cast<double>(a.value_dim);
  op.forward.push_back(
      {Kernel{b.memory_bound(MemoryOp::kGatedActivation, b.t, width, bytes + gates, bytes)}});
  op.backward_input.push_back({Kernel{b.memory_bound(MemoryOp::kGatedActivation, b.t, width,
                                                     2 * bytes + gates, bytes + gates, true)}});
  b.save(op, bytes + gates);
}

void add_rotation(OperatorBuilder& b, const AttentionShape& a) {
  if (!a.rotary) return;
  Operator& op = b.begin("rope");
  const std::int64_t rotated = a.latent() ? a.rope_dim : a.head_dim;
  const std::int64_t width =
      share(a.heads, b.n) * rotated + (a.latent() ? rotated : share(a.kv_heads, b.n) * rotated);
  const double bytes = b.element * static_cast<double>(b.t) * static_cast<double>(width);
  // By operators of PyTorch (Megatron-Core, rope_utils.py: "mscale is not supported by TE's fused RoPE"), forward: a
  // product with cosines, halves swapped and one negated, a product with sines, a sum, a copy. Backward: both
  // products, the halves back, sums.
  struct Passes {
    double read, written;
  };
  const Passes forward = a.scaled_rotary ? Passes{6.5, 5.5} : Passes{1, 1};
  const Passes backward = a.scaled_rotary ? Passes{5.5, 4.5} : Passes{1, 1};
  op.forward.push_back({Kernel{
      b.memory_bound(MemoryOp::kRope, b.t, width, forward.read * bytes, forward.written * bytes)}});
  op.backward_input.push_back({Kernel{b.memory_bound(
      MemoryOp::kRope, b.t, width, backward.read * bytes, backward.written * bytes, true)}});
  op.recomputed = b.recomputes(kRecomputeSecondProduct);
}

}  // namespace

void add_attention(OperatorBuilder& b, const Layer& layer) {
  const AttentionShape& a = layer.attention;
  b.norm("attention_norm", layer.norm, b.u, b.h);
  b.last().recomputed = b.recomputes(kRecomputeNorm);
  if (a.latent()) {
    add_latent_projections(b, a, layer.norm);
  } else {
    add_projections(b, a);
  }
  if (a.qk_norm > 0) {
    b.norm("qk_norm", NormKind::kRmsNorm, b.t * (share(a.heads, b.n) + share(a.kv_heads, b.n)),
           a.head_dim);
    // One for queries and one for keys, shared by the heads; or one for each head.
    const bool shared = a.qk_norm <= 2 * a.head_dim;
    b.last().weights = shared ? a.qk_norm : share(a.qk_norm, b.n);
    b.last().trainable = b.run.lora_rank > 0 ? 0 : b.last().weights;
    b.last().recomputed = b.recomputes(kRecomputeSecondProduct);
  }
  add_rotation(b, a);
  if (a.indexes()) add_indexer(b, a);
  add_core(b, attended(b, a));
  if (a.vectors > 0) b.own(b.last(), a.vectors);
  if (a.head_gate) {
    b.linear({.name = "gate_proj",
              .in = b.h,
              .out = a.heads,
              .saves_input = false,
              .communicates = false});
  }
  if (a.output_gate || a.head_gate) add_output_gate(b, a);
  b.linear({.name = "out_proj",
            .in = a.heads * a.value_dim,
            .out = b.h,
            .cut = Cut::kRow,
            .bias = a.out_bias,
            .adapters = true,
            .communicates = !layer.parallel});
  b.last().recomputed = b.recomputes(kRecomputeSecondProduct);
  if (layer.parallel) return;
  if (layer.recurrence.heads > 0) add_recurrence_beside(b, layer.recurrence);
  if (layer.norms == 4) {
    b.norm("post_attention_norm", layer.norm, b.u, b.h, kRecomputeSecondProduct);
    b.last().recomputed = b.recomputes(kRecomputeSecondProduct);
  }
  b.residual_add("attention_add", layer.recurrence.heads > 0 ? 3 : 2);
  b.last().recomputed = b.recomputes(kRecomputeSecondProduct);
}

}  // namespace flopcast::workload
