// Operators of layers that keep a state per head instead of keys and values: state spaces (Mamba and Mamba-2), the
// delta rule with its gates, lightning attention; and of short convolutions. Training and prefill work through chunks of
// tokens: products inside a chunk, and one state handed from chunk to chunk. Mamba's states have no such products.
#include <algorithm>

#include "workload/operators/builder.h"

namespace flopcast::workload {
namespace {

/// The recurrence as one chip runs it: whole sequences of its share of the heads.
struct Scan {
  std::int64_t heads = 0, key_heads = 0;
  std::int64_t chunks = 0;                       ///< of all sequences
  std::int64_t chunk = 0, keys = 0, values = 0;  ///< C, N, P: tokens, widths of a head
  GemmType type;
};

Scan scan_of(const OperatorBuilder& b, const Recurrence& r) {
  Scan scan;
  const std::int64_t chips = b.n * b.run.cp;
  scan.heads = share(r.heads, chips);
  scan.key_heads = std::max<std::int64_t>(share(r.key_heads, chips), 1);
  scan.chunk = std::min(r.chunk, b.run.sequence);
  scan.chunks = b.run.microbatch * share(b.run.sequence, scan.chunk);
  scan.keys = r.key_dim;
  scan.values = r.value_dim;
  scan.type = b.unquantized();
  return scan;
}

/// [m, n] += [m, k] [k, n], for every head of every chunk.
OperatorStep product(const Scan& scan, std::int64_t m, std::int64_t n, std::int64_t k,
                     unsigned count) {
  return {Kernel{Gemm{m, n, k, scan.chunks * scan.heads, scan.type}}, count};
}

/// States are handed on in 32 bits.
OperatorStep hand_on_states(const OperatorBuilder& b, const Scan& scan, bool backward) {
  const std::int64_t rows = scan.chunks * scan.heads * scan.keys;
  const double bytes = 4 * static_cast<double>(rows) * static_cast<double>(scan.values);
  return {
      Kernel{b.memory_bound(MemoryOp::kElementWise, rows, scan.values, bytes, bytes, backward)}};
}

/// Dao and Gu, section 6: scores of a chunk, what it leaves as state, what it sees of itself and of
/// the state before it. @param times 1 forward, 2 for both gradients.
void state_space_outputs(const Scan& scan, std::vector<OperatorStep>& steps, unsigned times) {
  const Gemm scores{scan.chunk, scan.chunk, scan.keys, scan.chunks * scan.key_heads, scan.type};
  steps.push_back({Kernel{scores}, times});
  steps.push_back(product(scan, scan.chunk, scan.values, scan.chunk, times));
  steps.push_back(product(scan, scan.chunk, scan.values, scan.keys, times));
}

void state_space_states(const OperatorBuilder& b, const Scan& scan,
                        std::vector<OperatorStep>& steps, unsigned times, bool backward) {
  steps.push_back(product(scan, scan.keys, scan.values, scan.chunk, times));
  steps.push_back(hand_on_states(b, scan, backward));
}

/// Yang et al., section 3.3: what each token of a chunk takes back of those before it (a triangular
/// system), then states and outputs.
void delta_states(const OperatorBuilder& b, const Scan& scan, std::vector<OperatorStep>& steps,
                  unsigned times, bool backward) {
  steps.push_back(product(scan, scan.chunk, scan.keys, scan.chunk, times));
  steps.push_back(product(scan, scan.chunk, scan.values, scan.chunk, times));
  steps.push_back(product(scan, scan.chunk, scan.values, scan.keys, times));
  steps.push_back(product(scan, scan.keys, scan.values, scan.chunk, times));
  steps.push_back(hand_on_states(b, scan, backward));
}

void delta_triangle(const OperatorBuilder& b, const Scan& scan, std::vector<OperatorStep>& steps,
                    unsigned times, bool backward) {
  steps.push_back(product(scan, scan.chunk, scan.chunk, scan.keys, times));
  const std::int64_t rows = scan.chunks * scan.heads * scan.chunk;
  const double values = static_cast<double>(rows) * static_cast<double>(scan.chunk);
  steps.push_back({Kernel{b.memory_bound(MemoryOp::kElementWise, rows, scan.chunk, 4 * values,
                                         b.element * values, backward)}});
}

void delta_outputs(const Scan& scan, std::vector<OperatorStep>& steps, unsigned times) {
  steps.push_back(product(scan, scan.chunk, scan.chunk, scan.keys, times));
  steps.push_back(product(scan, scan.chunk, scan.values, scan.chunk, times));
  steps.push_back(product(scan, scan.chunk, scan.values, scan.keys, times));
}

/// Mamba's states live in registers while one kernel goes through a sequence: inputs and steps are read, outputs written,
/// and backward makes the states again from those at the ends of chunks (Gu and Dao, arXiv:2312.00752, section 3.3.2).
void selective_scan(OperatorBuilder& b, const Recurrence& r, Operator& op) {
  constexpr double kTokensOfAChunk = 2048;
  const std::int64_t width = share(r.value_width(), b.n);
  const double tokens = static_cast<double>(b.t), values = tokens * static_cast<double>(width);
  const double bytes = b.element * (2 * values + 2 * tokens * static_cast<double>(r.key_dim));
  const double states = 4 * values * static_cast<double>(r.key_dim) / kTokensOfAChunk;
  op.forward.push_back({Kernel{
      b.memory_bound(MemoryOp::kElementWise, b.t, width, bytes, b.element * values + states)}});
  op.backward_input.push_back({Kernel{b.memory_bound(
      MemoryOp::kElementWise, b.t, width, bytes + b.element * values + states, bytes, true)}});
  b.save(op, states);
}

/// Backward makes the states again instead of keeping them, as the kernels of both libraries do.
void add_products(const OperatorBuilder& b, const Recurrence& r, Operator& op) {
  const Scan scan = scan_of(b, r);
  if (r.kind == RecurrenceKind::kStateSpace || r.kind == RecurrenceKind::kDecay) {
    state_space_states(b, scan, op.forward, 1, false);
    state_space_outputs(scan, op.forward, 1);
    state_space_states(b, scan, op.backward_input, 1, false);
    state_space_outputs(scan, op.backward_input, 2);
    state_space_states(b, scan, op.backward_input, 2, true);
    return;
  }
  delta_triangle(b, scan, op.forward, 1, false);
  delta_states(b, scan, op.forward, 1, false);
  delta_outputs(scan, op.forward, 1);
  delta_states(b, scan, op.backward_input, 1, false);
  delta_outputs(scan, op.backward_input, 2);
  delta_states(b, scan, op.backward_input, 2, true);
  delta_triangle(b, scan, op.backward_input, 2, true);
}

/// A short convolution stands between two gates, which its kernel reads, too.
void add_convolution(OperatorBuilder& b, const Recurrence& r) {
  if (r.taps == 0) return;
  Operator& op = b.begin("conv");
  const std::int64_t width = share(r.channels(), b.n);
  const double gated = r.kind == RecurrenceKind::kConvolution ? 3 : 1;
  const double bytes = b.element * static_cast<double>(b.t) * static_cast<double>(width);
  op.forward.push_back(
      {Kernel{b.memory_bound(MemoryOp::kActivation, b.t, width, gated * bytes, bytes)}});
  op.backward_input.push_back({Kernel{b.memory_bound(MemoryOp::kActivation, b.t, width,
                                                     (gated + 1) * bytes, gated * bytes, true)}});
  b.own(op, width * (r.taps + (r.taps_bias ? 1 : 0)));
  b.save(op, gated * bytes);
}

/// Products of what the first ones made: steps, keys and queries of Mamba; decays and gates in two steps.
void add_later_products(OperatorBuilder& b, const Recurrence& r) {
  if (r.kind == RecurrenceKind::kSelective) {
    b.linear(
        {.name = "x_proj", .in = r.value_width(), .out = r.rank + 2 * r.key_dim, .cut = Cut::kRow});
  }
  if (r.rank > 0) b.linear({.name = "gates_proj", .in = r.rank, .out = r.gate_width()});
}

/// Context parallelism exchanges pieces of sequences for heads: a state knows no pieces.
void add_scan(OperatorBuilder& b, const Recurrence& r) {
  Operator& op = b.begin("scan");
  op.scans = true;
  const double tokens = static_cast<double>(b.t);
  const std::int64_t width = r.value_width() + 2 * r.key_width();
  const double inputs = b.element * tokens * static_cast<double>(share(width, b.n));
  const double gates = 4 * tokens * static_cast<double>(share(r.heads, b.n) * r.gates());
  const double outputs = b.element * tokens * static_cast<double>(share(r.value_width(), b.n));
  b.send(op.forward, CollectiveOp::kAllToAll, Group::kContext, inputs + gates, false);
  b.send(op.backward_input, CollectiveOp::kAllToAll, Group::kContext, outputs, false);
  r.kind == RecurrenceKind::kSelective ? selective_scan(b, r, op) : add_products(b, r, op);
  b.send(op.forward, CollectiveOp::kAllToAll, Group::kContext, outputs, false);
  b.send(op.backward_input, CollectiveOp::kAllToAll, Group::kContext, inputs + gates, false);
  b.own(op, share(r.vectors(), b.n));
  b.save(op, inputs + gates);
  if (r.kind == RecurrenceKind::kGatedDelta || r.kind == RecurrenceKind::kKeyedDelta) {
    b.save(op, b.element * tokens * static_cast<double>(share(r.heads, b.n) * r.chunk));
  }
}

/// The norm of the outputs, each times its gate; Mamba has the gate alone.
void add_gated_norm(OperatorBuilder& b, const Recurrence& r) {
  const bool norm = r.norm > 0 && r.kind != RecurrenceKind::kSelective;
  Operator& op = b.begin(norm ? "gated_norm" : "gate");
  const MemoryOp what = norm ? MemoryOp::kRmsNorm : MemoryOp::kGatedActivation;
  const std::int64_t width = share(r.value_width(), b.n);
  const double bytes = b.element * static_cast<double>(b.t) * static_cast<double>(width);
  op.forward.push_back({Kernel{b.memory_bound(what, b.t, width, 2 * bytes, bytes)}});
  op.backward_input.push_back(
      {Kernel{b.memory_bound(what, b.t, width, 3 * bytes, 2 * bytes, true)}});
  // As wide as all heads, or as one that all chips have.
  b.own(op, r.norm >= r.value_width() ? share(r.norm, b.n) : r.norm);
  b.save(op, 2 * bytes);
}

/// @param alone the layer's stream is nobody else's
void add_blocks(OperatorBuilder& b, const Recurrence& r, bool alone) {
  b.linear({.name = "in_proj",
            .in = b.h,
            .out = r.projection_width(),
            .bias = r.bias,
            .adapters = true,
            .saves_input = alone,
            .communicates = alone,
            .input_module = kRecomputeNorm});
  add_convolution(b, r);
  add_later_products(b, r);
  if (r.keeps_states()) {
    add_scan(b, r);
    add_gated_norm(b, r);
  }
  b.linear({.name = "out_proj",
            .in = r.value_width(),
            .out = b.h,
            .cut = Cut::kRow,
            .bias = r.bias,
            .adapters = true,
            .communicates = alone});
}

}  // namespace

void add_recurrence_beside(OperatorBuilder& b, const Recurrence& r) { add_blocks(b, r, false); }

void add_recurrence(OperatorBuilder& b, const Layer& layer) {
  b.norm("attention_norm", layer.norm, b.u, b.h);
  b.last().recomputed = b.recomputes(kRecomputeNorm);
  add_blocks(b, layer.recurrence, true);
  if (layer.norms == 4) b.norm("post_attention_norm", layer.norm, b.u, b.h);
  b.residual_add("attention_add", 2);
}

}  // namespace flopcast::workload
