#include "workload/operators/builder.h"

#include <algorithm>

namespace flopcast::workload {
namespace {

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

bool is_quantized(Precision precision) { return precision >= Precision::kFp8; }

}  // namespace

OperatorBuilder::OperatorBuilder(const Model& model_, const Execution& run_)
    : model(model_),
      run(run_),
      h(model_.hidden),
      t(share(run_.microbatch * run_.sequence, run_.cp * run_.tp2)),
      n(run_.tp),
      type(activation_type(run_.precision)),
      element(activation_type(run_.precision) == DataType::kFp32 ? 4 : 2),
      shards_sequence(run_.tp > 1 && (run_.sequence_parallel || run_.tensor != TensorKind::kOneD)) {
  u = shards_sequence ? share(t, n) : t;
}

Operator& OperatorBuilder::begin(std::string_view name) {
  list_.operators.emplace_back();
  list_.operators.back().name = name;
  return list_.operators.back();
}

OperatorList OperatorBuilder::take() {
  if (run.recompute == Recompute::kFull) {
    for (Operator& op : list_.operators) {
      op.saved = Bytes{0};
      op.recomputed = true;
    }
  }
  for (const Operator& op : list_.operators) {
    list_.saved += op.saved;
    list_.live += op.live;
    list_.peak = std::max(list_.peak, list_.live + op.gradients);
  }
  return std::move(list_);
}

void OperatorBuilder::send(std::vector<OperatorStep>& steps, CollectiveOp op, Group group,
                           double bytes, bool overlappable) const {
  if (members(run, group) <= 1) return;
  steps.push_back({Transfer{op, group, Bytes{bytes}, type}, 1, overlappable});
}

void OperatorBuilder::route(std::vector<OperatorStep>& steps, const Experts& experts,
                            double bytes) const {
  if (run.ep <= 1) return;
  const Transfer transfer{CollectiveOp::kAllToAll, Group::kExpert, Bytes{bytes},      type,
                          experts.top_k,           experts.groups, experts.top_groups};
  steps.push_back({transfer, 1, true});
}

GemmType OperatorBuilder::unquantized() const {
  return is_quantized(run.precision) ? GemmType::kBf16 : gemm_type(run.precision);
}

void OperatorBuilder::multiply(std::vector<OperatorStep>& steps, std::int64_t m, std::int64_t out,
                               std::int64_t k, bool quantized) const {
  const GemmType gemm = quantized ? gemm_type(run.precision) : unquantized();
  steps.push_back({Kernel{Gemm{.m = m, .n = out, .k = k, .type = gemm}}});
}

MemoryBound OperatorBuilder::memory_bound(MemoryOp op, std::int64_t rows, std::int64_t columns,
                                          double read, double written, bool backward) const {
  return {op, rows, columns, type, backward, Bytes{read}, Bytes{written}};
}

void OperatorBuilder::quantize(std::vector<OperatorStep>& steps, std::int64_t rows,
                               std::int64_t columns, bool backward) const {
  if (!is_quantized(run.precision)) return;
  // One copy along rows, and one along columns for the gradient of weights that are trained.
  const double values = product(rows, columns), copy = saved_bytes(run.precision) * values;
  const int copies = run.lora_rank > 0 ? 1 : 2;
  steps.push_back({Kernel{memory_bound(MemoryOp::kQuantize, rows, columns, element * values,
                                       copies * copy, backward)}});
}

bool OperatorBuilder::gathers_narrow(const Linear& l) const {
  // Transformer Engine does (_all_gather_fp8, _all_gather_mxfp8, _all_gather_nvfp4); PyTorch's Float8ColwiseParallel
  // where a tensor has one scale.
  const bool can = !run.whole_inputs || run.precision == Precision::kFp8;
  return l.quantized && is_quantized(run.precision) && shards_sequence && can;
}

void OperatorBuilder::save(Operator& op, double bytes, std::uint8_t modules) {
  op.live += Bytes{bytes};
  if (!recomputes(modules)) op.saved += Bytes{bytes};
}

void OperatorBuilder::own(Operator& op, std::int64_t values) const {
  op.weights += values;
  if (run.lora_rank == 0) op.trainable += values;
}

void OperatorBuilder::linear_forward(Operator& op, const Linear& l, std::int64_t rows) const {
  const std::int64_t in = l.cut == Cut::kRow ? share(l.in, n) : l.in;
  const std::int64_t out = l.cut == Cut::kColumn ? share(l.out, n) : l.out;
  const bool narrow = gathers_narrow(l);
  const double sent = narrow ? saved_bytes(run.precision) : element;
  if (l.cut == Cut::kColumn && shards_sequence && l.communicates) {
    send(op.forward, CollectiveOp::kAllGather, Group::kTensor, sent * product(t, l.in));
  }
  if (l.quantized) quantize(op.forward, l.cut == Cut::kColumn && narrow ? u : rows, in, false);
  multiply(op.forward, rows, out, in, l.quantized);
  if (l.cut == Cut::kRow && l.communicates) {
    send(op.forward, shards_sequence ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
         Group::kTensor, element * product(t, l.out));
  }
}

void OperatorBuilder::linear_backward(Operator& op, const Linear& l, std::int64_t rows) const {
  const std::int64_t in = l.cut == Cut::kRow ? share(l.in, n) : l.in;
  const std::int64_t out = l.cut == Cut::kColumn ? share(l.out, n) : l.out;
  const bool narrow = gathers_narrow(l);
  const double sent = narrow ? saved_bytes(run.precision) : element;
  if (l.cut == Cut::kRow && shards_sequence && l.communicates) {
    send(op.backward_input, CollectiveOp::kAllGather, Group::kTensor, sent * product(t, l.out));
  }
  if (l.quantized) quantize(op.backward_input, l.cut == Cut::kRow && narrow ? u : rows, out, true);
  multiply(op.backward_input, rows, in, out, l.quantized);
  if (l.cut == Cut::kColumn && l.communicates) {
    send(op.backward_input,
         shards_sequence ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce, Group::kTensor,
         element * product(t, l.in));
  }
  op.gradients = Bytes{element * (product(rows, in) + product(rows, out))};
  if (run.lora_rank > 0) return;
  // Where only the shard of the input was kept it is gathered again for the weight gradient.
  if (l.cut == Cut::kColumn && shards_sequence && l.communicates && !run.whole_inputs) {
    send(op.backward_weight, CollectiveOp::kAllGather, Group::kTensor, sent * product(t, l.in));
  }
  multiply(op.backward_weight, out, in, rows, l.quantized);
}

void OperatorBuilder::linear_adapters(Operator& op, const Linear& l, std::int64_t rows) const {
  const std::int64_t in = l.cut == Cut::kRow ? share(l.in, n) : l.in;
  const std::int64_t out = l.cut == Cut::kColumn ? share(l.out, n) : l.out;
  const std::int64_t rank = run.lora_rank;
  multiply(op.forward, rows, rank, in, false);
  multiply(op.forward, rows, out, rank, false);
  multiply(op.backward_input, rows, rank, out, false);
  multiply(op.backward_input, rows, in, rank, false);
  multiply(op.backward_weight, rank, in, rows, false);
  multiply(op.backward_weight, out, rank, rows, false);
  // Their product is added to the layer's, and their gradient of the input to its.
  const auto add = [&](std::vector<OperatorStep>& steps, bool cut, std::int64_t width, bool back) {
    const std::int64_t summed = cut && shards_sequence ? u : rows;
    const double bytes = element * product(summed, width);
    steps.push_back({Kernel{memory_bound(MemoryOp::kAdd, summed, width, 2 * bytes, bytes, back)}});
  };
  add(op.forward, l.cut == Cut::kRow, out, false);
  add(op.backward_input, l.cut == Cut::kColumn, in, true);
  op.weights += rank * (in + out);
  op.trainable += rank * (in + out);
}

void OperatorBuilder::summa(const Linear& l) {
  Operator& op = begin(l.name);
  const std::int64_t out = share(l.out, n);
  const auto panels = static_cast<std::int64_t>(run.panels);
  const double activations = element * product(t, l.in) / static_cast<double>(panels);
  const double weights = element * product(l.in, out) / static_cast<double>(panels);
  const auto panel = [&](std::vector<OperatorStep>& steps, CollectiveOp of_activations,
                         CollectiveOp of_weights) {
    send(steps, of_activations, Group::kTensor, activations);
    send(steps, of_weights, Group::kTensor2, weights);
  };
  panel(op.forward, CollectiveOp::kBroadcast, CollectiveOp::kBroadcast);
  multiply(op.forward, t, out, share(l.in, panels));
  panel(op.backward_input, CollectiveOp::kReduce, CollectiveOp::kBroadcast);
  multiply(op.backward_input, t, share(l.in, panels), out);
  panel(op.backward_weight, CollectiveOp::kBroadcast, CollectiveOp::kReduce);
  multiply(op.backward_weight, share(l.in, panels), out, t);
  for (auto* pass : {&op.forward, &op.backward_input, &op.backward_weight}) {
    for (OperatorStep& step : *pass) step.count = run.panels;
  }
  own(op, share(l.in, run.tp2) * out + (l.bias ? out : 0));
  if (l.saves_input) save(op, input_bytes() * product(t, share(l.in, n)), l.input_module);
}

void OperatorBuilder::linear(const Linear& l) {
  if (run.tensor == TensorKind::kSumma && l.cut != Cut::kWhole) return summa(l);
  Operator& op = begin(l.name);
  const std::int64_t rows = l.cut == Cut::kWhole ? u : t;
  linear_forward(op, l, rows);
  linear_backward(op, l, rows);
  const std::int64_t parts = l.cut == Cut::kWhole ? 1 : n;
  const std::int64_t bias = l.cut == Cut::kColumn ? share(l.out, n) : l.out;
  own(op, (l.cut == Cut::kRow ? share(l.in, parts) * l.out : l.in * share(l.out, parts)) +
              (l.bias ? bias : 0));
  const bool adapters = run.lora_rank > 0 && l.adapters;
  if (adapters) linear_adapters(op, l, rows);
  if (l.saves_input && (run.lora_rank == 0 || adapters)) {
    const bool gathered = l.cut == Cut::kColumn && run.whole_inputs;
    const double values =
        l.cut == Cut::kRow ? product(t, share(l.in, n)) : product(gathered ? t : u, l.in);
    save(op, (l.quantized ? input_bytes() : element) * values, l.input_module);
  }
}

void OperatorBuilder::norm(std::string_view name, NormKind kind, std::int64_t rows,
                           std::int64_t width, std::uint8_t input_module) {
  Operator& op = begin(name);
  const MemoryOp what = kind == NormKind::kRmsNorm ? MemoryOp::kRmsNorm : MemoryOp::kLayerNorm;
  const double bytes = element * product(rows, width);
  op.forward.push_back({Kernel{memory_bound(what, rows, width, bytes, bytes)}});
  op.backward_input.push_back({Kernel{memory_bound(what, rows, width, 2 * bytes, bytes, true)}});
  if (kind != NormKind::kNoWeights) own(op, kind == NormKind::kLayerNorm ? 2 * width : width);
  op.gradients = Bytes{2 * bytes};
  save(op, bytes, input_module);
}

void OperatorBuilder::residual_add(std::string_view name, unsigned inputs) {
  Operator& op = begin(name);
  const double values = product(u, h);
  const double mask = model.hidden_dropout && run.lora_rank == 0 ? values : 0;
  op.forward.push_back({Kernel{
      memory_bound(MemoryOp::kAdd, u, h, inputs * element * values, element * values + mask)}});
  // The gradients of both branches meet; dropout scales one of them.
  op.backward_input.push_back({Kernel{memory_bound(
      MemoryOp::kAdd, u, h, inputs * element * values + mask, element * values, true)}});
  save(op, mask);
}

void OperatorBuilder::activation(std::string_view name, bool gated, std::int64_t rows,
                                 std::int64_t width, std::uint8_t other_module) {
  Operator& op = begin(name);
  const double out = element * product(rows, width);
  const double in = gated ? 2 * out : out;
  const MemoryOp what = gated ? MemoryOp::kGatedActivation : MemoryOp::kActivation;
  op.forward.push_back({Kernel{memory_bound(what, rows, width, in, out)}});
  op.backward_input.push_back({Kernel{memory_bound(what, rows, width, in + out, in, true)}});
  op.gradients = Bytes{in + out};
  save(op, out, kRecomputeMlp);
  if (gated) save(op, out, kRecomputeMlp | other_module);
  op.recomputed = recomputes(kRecomputeActivation | kRecomputeMlp);
}

}  // namespace flopcast::workload
