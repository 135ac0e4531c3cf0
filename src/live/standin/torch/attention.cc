#include "live/standin/torch/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "live/standin/torch/random.h"

namespace flopcast::plugin {
namespace {

using at::Tensor;

/// What all kinds of attention share. Tensors are batch, heads, positions, features.
struct Attention {
  Tensor query, key, value;
  Tensor bias;  ///< added to scores; may be undefined
  bool causal = false;
  double scale = 0;    ///< 0: by the number of features
  double dropout = 0;  ///< rate
  std::uint64_t seed = 0;
};

/// Heads of keys and values repeated for all queries that share them.
Tensor for_all_heads(const Tensor& shared, const Tensor& query) {
  const std::int64_t times = query.size(1) / shared.size(1);
  return times == 1 ? shared : shared.repeat_interleave(times, 1);
}

/// The gradient of shared heads: the sum over those that share them.
Tensor for_shared_heads(const Tensor& all, const Tensor& shared) {
  const std::int64_t times = all.size(1) / shared.size(1);
  return times == 1 ? all : all.unflatten(1, {shared.size(1), times}).sum(2);
}

Attention in_fp32(Attention a) {
  for (Tensor* tensor : {&a.query, &a.key, &a.value}) *tensor = tensor->to(at::kFloat);
  if (a.bias.defined()) a.bias = a.bias.to(at::kFloat);
  if (a.scale == 0) a.scale = 1 / std::sqrt(static_cast<double>(a.query.size(-1)));
  return a;
}

Tensor scores_of(const Attention& a) {
  Tensor scores = at::matmul(a.query * a.scale, for_all_heads(a.key, a.query).transpose(-2, -1));
  if (a.bias.defined()) scores = scores + a.bias;
  if (!a.causal) return scores;
  const Tensor seen = at::ones({scores.size(-2), scores.size(-1)}, at::kBool).tril();
  return scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
}

/// Rows that see nothing are zero.
Tensor weights_of(const Tensor& scores, const Tensor& logsumexp) {
  const Tensor weights = (scores - logsumexp.unsqueeze(-1)).exp();
  return weights.masked_fill(at::isinf(logsumexp).unsqueeze(-1), 0);
}

/// What is kept of the weights, scaled up for what is not; undefined without dropout.
Tensor kept_by(const Attention& a, const Tensor& weights) {
  if (a.dropout == 0) return {};
  return at::empty_like(weights).bernoulli_(1 - a.dropout, generator_from(a.seed)) /
         (1 - a.dropout);
}

struct Forward {
  Tensor out, logsumexp;
};

Forward forward(const Attention& narrow) {
  const Attention a = in_fp32(narrow);
  const Tensor scores = scores_of(a);
  const Tensor logsumexp = scores.logsumexp(-1);
  Tensor weights = weights_of(scores, logsumexp);
  if (const Tensor kept = kept_by(a, weights); kept.defined()) weights = weights * kept;
  return {at::matmul(weights, for_all_heads(a.value, a.query)), logsumexp};
}

struct Backward {
  Tensor query, key, value, bias;
};

Backward backward(const Attention& narrow, const Tensor& narrow_grad) {
  const Attention a = in_fp32(narrow);
  const Tensor grad = narrow_grad.to(at::kFloat);
  const Tensor key = for_all_heads(a.key, a.query), value = for_all_heads(a.value, a.query);
  const Tensor scores = scores_of(a);
  const Tensor weights = weights_of(scores, scores.logsumexp(-1));
  const Tensor kept = kept_by(a, weights);
  const Tensor of_value =
      at::matmul((kept.defined() ? weights * kept : weights).transpose(-2, -1), grad);
  Tensor of_weights = at::matmul(grad, value.transpose(-2, -1));
  if (kept.defined()) of_weights = of_weights * kept;
  const Tensor of_scores =
      weights * (of_weights - (of_weights * weights).sum(-1, /*keepdim=*/true));
  Backward all;
  all.query = at::matmul(of_scores, key) * a.scale;
  all.key = for_shared_heads(at::matmul(of_scores.transpose(-2, -1), a.query) * a.scale, a.key);
  all.value = for_shared_heads(of_value, a.value);
  if (a.bias.defined()) all.bias = at::sum_to(of_scores, a.bias.sizes());
  return all;
}

double scale_of(const c10::IValue& value) { return value.isNone() ? 0 : value.toDouble(); }

Tensor tensor_or_none(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}

/// Kernels round rows of this up, and some keep one more dimension.
Tensor laid_out_as(const Tensor& logsumexp, const Values& outputs, std::size_t index) {
  if (outputs.size() <= index || !outputs[index].isTensor()) return logsumexp;
  const Tensor& as = outputs[index].toTensor();
  if (!as.defined() || as.numel() == 0) return {};
  if (as.numel() == logsumexp.numel()) return logsumexp.reshape(as.sizes());
  Tensor padded = at::zeros(as.sizes(), logsumexp.options());
  padded.narrow(2, 0, logsumexp.size(2)).copy_(logsumexp);
  return padded;
}

/// The state of random numbers carries the seed from forward to backward.
Tensor seed_as(const Call& call, const Attention& a, const Values& outputs, std::size_t index) {
  if (a.dropout == 0 || outputs.size() <= index || !outputs[index].isTensor()) return {};
  const Tensor& as = outputs[index].toTensor();
  if (!as.defined() || as.nbytes() < sizeof a.seed) return {};
  Tensor state = at::zeros(as.sizes(), as.options().device(at::kCPU));
  std::memcpy(state.mutable_data_ptr(), &*call.seed, sizeof a.seed);
  return state;
}

std::uint64_t seed_from(const c10::IValue& state) {
  std::uint64_t seed = 0;
  const Tensor tensor = tensor_or_none(state);
  if (tensor.defined() && tensor.nbytes() >= sizeof seed)
    std::memcpy(&seed, tensor.const_data_ptr(), sizeof seed);
  return seed;
}

c10::IValue or_none(const Tensor& tensor) { return tensor.defined() ? tensor : c10::IValue(); }

}  // namespace

Values flash_attention(const Call& call, const Values& in, const Values& outputs) {
  const Attention a{in[0].toTensor(), in[1].toTensor(),    in[2].toTensor(), {},
                    in[4].toBool(),   scale_of(in.back()), in[3].toDouble(), call.seed.value_or(0)};
  const Forward f = forward(a);
  const c10::IValue none;
  return {f.out, or_none(laid_out_as(f.logsumexp, outputs, 1)), none, none, none,
          none,  or_none(seed_as(call, a, outputs, 6)),         none, none};
}

Values flash_attention_backward(const Call&, const Values& in, const Values&) {
  const Attention a{in[1].toTensor(), in[2].toTensor(),    in[3].toTensor(),  {},
                    in[11].toBool(),  scale_of(in.back()), in[10].toDouble(), seed_from(in[12])};
  const Backward b = backward(a, in[0].toTensor());
  return {b.query, b.key, b.value};
}

Values efficient_attention(const Call& call, const Values& in, const Values& outputs) {
  const Attention a{in[0].toTensor(), in[1].toTensor(),    in[2].toTensor(), tensor_or_none(in[3]),
                    in[6].toBool(),   scale_of(in.back()), in[5].toDouble(), call.seed.value_or(0)};
  const Forward f = forward(a);
  return {f.out, or_none(laid_out_as(f.logsumexp, outputs, 1)),
          or_none(seed_as(call, a, outputs, 2)), c10::IValue()};
}

Values efficient_attention_backward(const Call&, const Values& in, const Values&) {
  const Attention a{in[1].toTensor(), in[2].toTensor(),    in[3].toTensor(), tensor_or_none(in[4]),
                    in[11].toBool(),  scale_of(in.back()), in[9].toDouble(), seed_from(in[7])};
  const Backward b = backward(a, in[0].toTensor());
  const bool of_bias = in[10].toBoolList().get(3);
  return {b.query, b.key, b.value, of_bias ? or_none(b.bias) : c10::IValue()};
}

Values cudnn_attention(const Call& call, const Values& in, const Values& outputs) {
  const Attention a{in[0].toTensor(), in[1].toTensor(),    in[2].toTensor(), tensor_or_none(in[3]),
                    in[6].toBool(),   scale_of(in.back()), in[5].toDouble(), call.seed.value_or(0)};
  const Forward f = forward(a);
  const c10::IValue none;
  return {f.out, or_none(laid_out_as(f.logsumexp, outputs, 1)), none, none, none,
          none,  or_none(seed_as(call, a, outputs, 6)),         none, none};
}

Values cudnn_attention_backward(const Call&, const Values& in, const Values&) {
  const Attention a{in[1].toTensor(), in[2].toTensor(),    in[3].toTensor(),  tensor_or_none(in[8]),
                    in[14].toBool(),  scale_of(in.back()), in[13].toDouble(), seed_from(in[6])};
  const Backward b = backward(a, in[0].toTensor());
  return {b.query, b.key, b.value};
}

}  // namespace flopcast::plugin
