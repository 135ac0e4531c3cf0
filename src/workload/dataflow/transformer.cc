// One transformer layer as a dataflow graph: forward, forward and backward, decoding.
#include "workload/dataflow/builder.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

using Id = std::uint32_t;

/// Adds one layer's kernels, in the order in which the published graphs number them.
class LayerBuilder {
 public:
  LayerBuilder(std::string name, const TransformerShape& shape, bool decode);

  void forward();
  void backward();
  DataflowGraph finish() { return builder_.finish(); }

 private:
  struct Gemm {
    std::string name;
    std::int64_t outer = 1, m = 1, k = 1;
    bool weighted = true;
    std::int64_t n = 0;  // 0: the tokens
  };
  Id gemm(const Gemm& gemm, Bytes output);
  Id pointwise(std::string name, DataflowKind kind, std::int64_t outer, std::int64_t m,
               Bytes output);
  Id hidden(std::string name, DataflowKind kind = DataflowKind::kElementwise);
  /// A dropout behind `before`, or `before` itself where there is none.
  Id dropout(std::string name, Id before, std::int64_t outer, std::int64_t m, Bytes output);
  Id cache(std::string name, Id fresh);
  void gradient(std::string name, std::int64_t m, std::int64_t n, Id of_output, Id input);

  void forward_attention();
  void forward_mlp();
  Id backward_mlp();
  void backward_attention(Id out_proj_gradient);
  void gradients();

  void reads(Id from, Id to) { builder_.feed(from, to, Operand::kPointwise); }
  void activates(Id from, Id to) { builder_.feed(from, to, Operand::kRight); }
  void held(Id from, Id to) { builder_.feed(from, to, Operand::kLeft); }
  Bytes bytes(double elements) const { return {elements * shape_.word}; }

  DataflowBuilder builder_;
  TransformerShape shape_;
  bool decode_ = false;
  bool backward_ = false;
  std::int64_t tokens_ = 1, keys_ = 1, kv_heads_ = 1, q_width_ = 1, kv_width_ = 1;
  Bytes hidden_bytes_, q_bytes_, kv_bytes_, keys_bytes_, score_bytes_, ffn_bytes_;

  // Forward kernels that others name: whose outputs the backward pass reads again.
  Id residual_in_ = 0, norm_1_ = 0, q_ = 0, k_ = 0, v_ = 0, probabilities_ = 0, context_ = 0;
  Id residual_1_ = 0, norm_2_ = 0, up_ = 0, gate_ = 0, gelu_ = 0;
  // Backward kernels whose outputs the weight gradients read.
  Id output_b_ = 0, up_b_ = 0, gate_b_ = 0, attention_b_ = 0, value_b_ = 0, q_b_ = 0, k_b_ = 0;
};

LayerBuilder::LayerBuilder(std::string name, const TransformerShape& shape, bool decode)
    : builder_(std::move(name)), shape_(shape), decode_(decode) {
  tokens_ = shape.sequence > 0 ? shape.sequence : 1;
  keys_ = shape.context > 0 ? shape.context : tokens_;
  kv_heads_ = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  q_width_ = shape.heads * shape.head_dim;
  kv_width_ = kv_heads_ * shape.head_dim;
  const auto size = [this](std::int64_t features, std::int64_t columns) {
    return bytes(static_cast<double>(features) * static_cast<double>(columns));
  };
  hidden_bytes_ = size(shape.hidden, tokens_);
  q_bytes_ = size(q_width_, tokens_);
  kv_bytes_ = size(kv_width_, tokens_);
  keys_bytes_ = size(kv_width_, keys_);
  score_bytes_ = size(keys_, tokens_) * static_cast<double>(shape.heads);
  ffn_bytes_ = size(shape.ffn, tokens_);
}

Id LayerBuilder::gemm(const Gemm& gemm, Bytes output) {
  DataflowKernel kernel{.name = gemm.name, .kind = DataflowKind::kGemm, .backward = backward_};
  kernel.outer = gemm.outer;
  kernel.m = gemm.m;
  kernel.n = gemm.n > 0 ? gemm.n : tokens_;
  kernel.k = gemm.k;
  if (!decode_) kernel.tiled = KernelDimension::kN;
  if (gemm.weighted) {
    kernel.weight = bytes(static_cast<double>(gemm.outer) * static_cast<double>(gemm.m) *
                          static_cast<double>(gemm.k));
    // Of one token's step the weights are most of the traffic, and are read once for all samples.
    if (decode_) kernel.traffic = kernel.weight;
    kernel.traffic_per_sample = !decode_;
  } else {
    kernel.batch = KernelDimension::kOuter;
  }
  return builder_.add(std::move(kernel), output);
}

Id LayerBuilder::pointwise(std::string name, DataflowKind kind, std::int64_t outer, std::int64_t m,
                           Bytes output) {
  DataflowKernel kernel{.name = std::move(name), .kind = kind, .backward = backward_};
  kernel.outer = outer;
  kernel.m = m;
  kernel.n = tokens_;
  if (!decode_) kernel.tiled = KernelDimension::kN;
  if (outer > 1) kernel.batch = KernelDimension::kOuter;
  return builder_.add(std::move(kernel), output);
}

Id LayerBuilder::hidden(std::string name, DataflowKind kind) {
  return pointwise(std::move(name), kind, 1, shape_.hidden, hidden_bytes_);
}

Id LayerBuilder::dropout(std::string name, Id before, std::int64_t outer, std::int64_t m,
                         Bytes output) {
  if (!shape_.dropout) return before;
  const Id id = pointwise(std::move(name), DataflowKind::kElementwise, outer, m, output);
  reads(before, id);
  return id;
}

/// The cached tokens' keys or values, and the fresh one's behind them.
Id LayerBuilder::cache(std::string name, Id fresh) {
  DataflowKernel kernel{.name = std::move(name)};
  kernel.outer = kv_heads_;
  kernel.m = shape_.head_dim;
  kernel.n = keys_;
  kernel.operations = 0;
  kernel.batch = KernelDimension::kOuter;
  kernel.traffic = bytes(static_cast<double>(kv_width_) * static_cast<double>(keys_ - tokens_));
  const Id id = builder_.add(std::move(kernel), keys_bytes_);
  reads(fresh, id);
  return id;
}

void LayerBuilder::gradient(std::string name, std::int64_t m, std::int64_t n, Id of_output,
                            Id input) {
  DataflowKernel kernel{.name = std::move(name), .kind = DataflowKind::kGemm, .backward = true};
  kernel.m = m;
  kernel.n = n;
  kernel.k = tokens_;
  kernel.gradient = bytes(static_cast<double>(m) * static_cast<double>(n));
  kernel.tiled = KernelDimension::kK;
  kernel.batch = KernelDimension::kK;
  const Id id = builder_.add(std::move(kernel), {});
  builder_.feed(of_output, id, Operand::kLeftT);
  builder_.feed(input, id, Operand::kRightT);
}

void LayerBuilder::forward_attention() {
  const std::int64_t heads = shape_.heads, width = shape_.head_dim;
  residual_in_ = hidden("residual_in");
  norm_1_ = hidden("norm_1", DataflowKind::kNorm);
  reads(residual_in_, norm_1_);
  q_ = gemm({"q", heads, width, shape_.hidden}, q_bytes_);
  k_ = gemm({"k", kv_heads_, width, shape_.hidden}, kv_bytes_);
  v_ = gemm({"v", kv_heads_, width, shape_.hidden}, kv_bytes_);
  for (const Id projection : {q_, k_, v_}) activates(norm_1_, projection);
  const Id keys = decode_ ? cache("k_cache", k_) : k_;
  const Id values = decode_ ? cache("v_cache", v_) : v_;
  const Id scores = gemm({"scores", heads, keys_, width, false}, score_bytes_);
  activates(q_, scores);
  held(keys, scores);
  const Id softmax = pointwise("softmax", DataflowKind::kSoftmax, heads, keys_, score_bytes_);
  reads(scores, softmax);
  probabilities_ = dropout("dropout_1", softmax, heads, keys_, score_bytes_);
  context_ = gemm({"context", heads, width, keys_, false}, q_bytes_);
  held(values, context_);
  activates(probabilities_, context_);
}

void LayerBuilder::forward_mlp() {
  norm_2_ = hidden("norm_2", DataflowKind::kNorm);
  reads(residual_1_, norm_2_);
  up_ = gemm({"ffn_up", 1, shape_.ffn, shape_.hidden}, ffn_bytes_);
  activates(norm_2_, up_);
  if (shape_.gated) {
    gate_ = gemm({"ffn_gate", 1, shape_.ffn, shape_.hidden}, ffn_bytes_);
    activates(norm_2_, gate_);
  }
  gelu_ = pointwise("gelu", DataflowKind::kElementwise, 1, shape_.ffn, ffn_bytes_);
  reads(up_, gelu_);
  if (shape_.gated) reads(gate_, gelu_);
  const Id down = gemm({"ffn_down", 1, shape_.hidden, shape_.ffn}, hidden_bytes_);
  activates(gelu_, down);
  const Id dropped = dropout("dropout_3", down, 1, shape_.hidden, hidden_bytes_);
  const Id residual_2 = hidden("residual_2");
  reads(dropped, residual_2);
  reads(residual_1_, residual_2);
  builder_.leave(residual_2);
}

void LayerBuilder::forward() {
  forward_attention();
  const Id projection = gemm({"out_proj", 1, shape_.hidden, q_width_}, hidden_bytes_);
  activates(context_, projection);
  const Id dropped = dropout("dropout_2", projection, 1, shape_.hidden, hidden_bytes_);
  residual_1_ = hidden("residual_1");
  reads(dropped, residual_1_);
  reads(residual_in_, residual_1_);
  forward_mlp();
}

/// @return the kernel that ends with the gradient of norm_2's input
Id LayerBuilder::backward_mlp() {
  const Id loss = hidden("loss_bwd");
  output_b_ = dropout("dropout_3_bwd", loss, 1, shape_.hidden, hidden_bytes_);
  const Id down = gemm({"ffn_down_bwd", 1, shape_.ffn, shape_.hidden}, ffn_bytes_);
  activates(output_b_, down);
  up_b_ = pointwise("gelu_bwd", DataflowKind::kElementwise, 1, shape_.ffn, ffn_bytes_);
  reads(down, up_b_);
  if (shape_.gated) {  // d up = d x f(gate); d gate = d x up f'(gate)
    gate_b_ = pointwise("gelu_gate_bwd", DataflowKind::kElementwise, 1, shape_.ffn, ffn_bytes_);
    reads(down, gate_b_);
    reads(gate_, up_b_);
    reads(gate_, gate_b_);
    reads(up_, gate_b_);
  }
  const Id up = gemm({"ffn_up_bwd", 1, shape_.hidden, shape_.ffn}, hidden_bytes_);
  activates(up_b_, up);
  const Id gate =
      shape_.gated ? gemm({"ffn_gate_bwd", 1, shape_.hidden, shape_.ffn}, hidden_bytes_) : up;
  if (shape_.gated) activates(gate_b_, gate);
  const Id norm = hidden("norm_2_bwd", DataflowKind::kNorm);
  reads(up, norm);
  if (shape_.gated) reads(gate, norm);
  return norm;
}

void LayerBuilder::backward_attention(Id norm) {
  const std::int64_t heads = shape_.heads, width = shape_.head_dim;
  attention_b_ = dropout("dropout_2_bwd", norm, 1, shape_.hidden, hidden_bytes_);
  const Id out = gemm({"out_proj_bwd", 1, q_width_, shape_.hidden}, q_bytes_);
  activates(attention_b_, out);
  const Id probabilities = gemm({"context_bwd1", heads, keys_, width, false}, score_bytes_);
  held(v_, probabilities);
  activates(out, probabilities);
  value_b_ = gemm({"context_bwd2", heads, width, tokens_, false, keys_}, keys_bytes_);
  held(out, value_b_);
  activates(probabilities_, value_b_);
  const Id value = gemm({"v_bwd", 1, shape_.hidden, kv_width_}, hidden_bytes_);
  activates(value_b_, value);
  const Id dropped = dropout("dropout_1_bwd", probabilities, heads, keys_, score_bytes_);
  const Id scores = pointwise("softmax_bwd", DataflowKind::kSoftmax, heads, keys_, score_bytes_);
  reads(dropped, scores);
  q_b_ = gemm({"scores_bwd1", heads, width, keys_, false}, q_bytes_);
  held(k_, q_b_);
  activates(scores, q_b_);
  k_b_ = gemm({"scores_bwd2", heads, width, tokens_, false, keys_}, keys_bytes_);
  held(q_, k_b_);
  activates(scores, k_b_);
  activates(q_b_, gemm({"q_bwd", heads, width, shape_.hidden}, hidden_bytes_));
  activates(k_b_, gemm({"k_bwd", kv_heads_, width, shape_.hidden}, hidden_bytes_));
}

void LayerBuilder::gradients() {
  const std::int64_t hidden = shape_.hidden, ffn = shape_.ffn;
  gradient("ffn_down_grad", hidden, ffn, output_b_, gelu_);
  gradient("ffn_up_grad", ffn, hidden, up_b_, norm_2_);
  if (shape_.gated) gradient("ffn_gate_grad", ffn, hidden, gate_b_, norm_2_);
  gradient("out_proj_grad", hidden, q_width_, attention_b_, context_);
  gradient("v_grad", kv_width_, hidden, value_b_, norm_1_);
  gradient("k_grad", kv_width_, hidden, k_b_, norm_1_);
  gradient("q_grad", q_width_, hidden, q_b_, norm_1_);
}

void LayerBuilder::backward() {
  backward_ = true;
  const Id norm = backward_mlp();
  backward_attention(norm);
  gradients();
}

}  // namespace

DataflowGraph transformer_forward(const TransformerShape& shape) {
  LayerBuilder layer("transformer_forward", shape, false);
  layer.forward();
  return layer.finish();
}

DataflowGraph transformer_training(const TransformerShape& shape) {
  LayerBuilder layer("transformer_training", shape, false);
  layer.forward();
  layer.backward();
  return layer.finish();
}

DataflowGraph transformer_decode(const TransformerShape& shape) {
  LayerBuilder layer("transformer_decode", shape, true);
  layer.forward();
  return layer.finish();
}

}  // namespace flopcast
