#include "live/standin/torch/emulations.h"

#include <limits>
#include <map>

#include "live/standin/torch/attention.h"
#include "live/standin/torch/random.h"
#include "live/standin/torch/recurrent.h"
#include "live/standin/torch/synchronized_norm.h"

namespace flopcast::plugin {
namespace {

using at::Tensor;

std::optional<Tensor> optional_tensor(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  return value.toTensor();
}

// --- products in another type ---------------------------------------------------------------------

Values product_of(const Call&, const Values& in, const Values&) {
  const auto type = in.back().toScalarType();
  return {at::matmul(in[0].toTensor().to(type), in[1].toTensor().to(type))};
}

// --- normalisation --------------------------------------------------------------------------------

Values batch_norm(const Call&, const Values& in, const Values& outputs) {
  auto [out, mean, inverse] = at::native_batch_norm(
      in[0].toTensor(), optional_tensor(in[1]), optional_tensor(in[2]), optional_tensor(in[3]),
      optional_tensor(in[4]), in[5].toBool(), in[6].toDouble(), in[7].toDouble());
  // Autograd wants a reserve, whatever is in it.
  const c10::IValue reserve = outputs.empty() ? at::empty({0}, at::kByte) : c10::IValue();
  return {out, mean, inverse, reserve};
}

Values batch_norm_backward(const Call&, const Values& in, const Values&) {
  auto [input, weight, bias] = at::native_batch_norm_backward(
      in[1].toTensor(), in[0].toTensor(), optional_tensor(in[2]), optional_tensor(in[3]),
      optional_tensor(in[4]), optional_tensor(in[5]), optional_tensor(in[6]), true,
      in[7].toDouble(), {true, true, true});
  return {input, weight, bias};
}

std::vector<std::int64_t> last_dims(std::size_t count) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < count; ++i) dims.push_back(-1 - static_cast<std::int64_t>(i));
  return dims;
}

Values rms_norm(const Call&, const Values& in, const Values&) {
  const Tensor x = in[0].toTensor().to(at::kFloat);
  const auto dims = last_dims(in[1].toIntVector().size());
  const double epsilon = in[3].isNone() ? std::numeric_limits<float>::epsilon() : in[3].toDouble();
  const Tensor inverse = (x.square().mean(dims, true) + epsilon).rsqrt();
  Tensor out = x * inverse;
  if (const auto weight = optional_tensor(in[2])) out = out * weight->to(at::kFloat);
  return {out, inverse};
}

Values rms_norm_backward(const Call&, const Values& in, const Values&) {
  const Tensor grad = in[0].toTensor().to(at::kFloat), x = in[1].toTensor().to(at::kFloat);
  const auto shape = in[2].toIntVector();
  const auto dims = last_dims(shape.size());
  const Tensor inverse = in[3].toTensor();
  const auto weight = optional_tensor(in[4]);
  const Tensor of_normal = weight ? grad * weight->to(at::kFloat) : grad;
  const Tensor normal = x * inverse;
  const Tensor of_x = inverse * (of_normal - normal * (of_normal * normal).mean(dims, true));
  if (!weight) return {of_x, c10::IValue()};
  return {of_x, at::sum_to(grad * normal, shape)};
}

// --- counts -----------------------------------------------------------------------------------------

/// GPUs count integers, too.
Values histogram(const Call&, const Values& in, const Values&) {
  const Tensor& x = in[0].toTensor();
  const Tensor wide = x.to(at::kDouble);
  return {at::histc(wide, in[1].toInt(), in[2].toScalar(), in[3].toScalar()).to(x.scalar_type())};
}

// --- dropout --------------------------------------------------------------------------------------

Values dropout(const Call& call, const Values& in, const Values&) {
  const Tensor& x = in[0].toTensor();
  const double rate = in[1].toDouble();
  const bool train = in[2].isNone() || in[2].toBool();
  if (!train || rate == 0) return {x.clone(), at::ones(x.sizes(), at::kBool)};
  if (rate >= 1) return {at::zeros_like(x), at::zeros(x.sizes(), at::kBool)};
  const Tensor mask =
      at::empty(x.sizes(), at::kBool).bernoulli_(1 - rate, generator_from(call.seed.value_or(0)));
  return {x * mask * (1 / (1 - rate)), mask};
}

}  // namespace

Emulation emulation_of(std::string_view name) {
  static const std::map<std::string_view, Emulation> all = {
      {"aten::mm.dtype", product_of},
      {"aten::bmm.dtype", product_of},
      {"aten::cudnn_batch_norm", batch_norm},
      {"aten::cudnn_batch_norm_backward", batch_norm_backward},
      {"aten::batch_norm_stats", batch_norm_stats},
      {"aten::batch_norm_gather_stats_with_counts", batch_norm_gather_stats},
      {"aten::batch_norm_elemt", batch_norm_elements},
      {"aten::batch_norm_backward_reduce", batch_norm_backward_reduce},
      {"aten::batch_norm_backward_elemt", batch_norm_backward_elements},
      {"aten::_fused_rms_norm", rms_norm},
      {"aten::_fused_rms_norm_backward", rms_norm_backward},
      {"aten::histc", histogram},
      {"aten::native_dropout", dropout},
      {"aten::_cudnn_rnn", recurrent_layers},
      {"aten::_cudnn_rnn_backward", recurrent_layers_backward},
      {"aten::_thnn_fused_lstm_cell", lstm_cell},
      {"aten::_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward},
      {"aten::_thnn_fused_gru_cell", gru_cell},
      {"aten::_thnn_fused_gru_cell_backward", gru_cell_backward},
      {"aten::_scaled_dot_product_flash_attention", flash_attention},
      {"aten::_scaled_dot_product_flash_attention_backward", flash_attention_backward},
      {"aten::_scaled_dot_product_efficient_attention", efficient_attention},
      {"aten::_scaled_dot_product_efficient_attention_backward", efficient_attention_backward},
      {"aten::_scaled_dot_product_cudnn_attention", cudnn_attention},
      {"aten::_scaled_dot_product_cudnn_attention_backward", cudnn_attention_backward},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace flopcast::plugin
