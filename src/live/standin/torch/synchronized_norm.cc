#include "live/standin/torch/synchronized_norm.h"

namespace flopcast::plugin {
namespace {

using at::Tensor;

/// Sums are made in fp32 at least, as on a GPU.
Tensor wide(const Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? tensor : tensor.to(at::kFloat);
}

/// All dimensions but that of channels.
std::vector<std::int64_t> all_but_channels(const Tensor& input) {
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < input.dim(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return dims;
}

/// One number a channel, as it meets the batch.
Tensor by_channel(const Tensor& of_channels, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return wide(of_channels).view(shape);
}

Tensor scaled(const Tensor& values, const c10::IValue& weight, const Tensor& input) {
  const bool given = weight.isTensor() && weight.toTensor().defined();
  return given ? values * by_channel(weight.toTensor(), input) : values;
}

}  // namespace

Values batch_norm_stats(const Call&, const Values& in, const Values&) {
  const Tensor input = wide(in[0].toTensor());
  const auto dims = all_but_channels(input);
  const Tensor mean = input.mean(dims);
  const Tensor variance = (input - by_channel(mean, input)).square().mean(dims);
  return {mean, (variance + in[1].toDouble()).rsqrt()};
}

Values batch_norm_gather_stats(const Call&, const Values& in, const Values&) {
  const Tensor means = wide(in[1].toTensor()), inverses = wide(in[2].toTensor());
  const double momentum = in[5].toDouble(), epsilon = in[6].toDouble();
  const Tensor counts = wide(in[7].toTensor()).view({-1, 1});
  const Tensor count = counts.sum();
  const Tensor mean = (means * counts).sum(0) / count;
  const Tensor variances = inverses.square().reciprocal() - epsilon;
  const Tensor squares = ((variances + (means - mean).square()) * counts).sum(0);
  const auto follow = [momentum](const c10::IValue& running, const Tensor& now) {
    if (!running.isTensor() || !running.toTensor().defined()) return;
    const Tensor& kept = running.toTensor();
    kept.copy_(kept * (1 - momentum) + now * momentum);
  };
  follow(in[3], mean);
  follow(in[4], squares / (count - 1));
  return {mean, (squares / count + epsilon).rsqrt()};
}

Values batch_norm_elements(const Call&, const Values& in, const Values&) {
  const Tensor& input = in[0].toTensor();
  const Tensor normal =
      (wide(input) - by_channel(in[3].toTensor(), input)) * by_channel(in[4].toTensor(), input);
  Tensor out = scaled(normal, in[1], input);
  if (in[2].isTensor() && in[2].toTensor().defined())
    out = out + by_channel(in[2].toTensor(), input);
  return {out.to(input.scalar_type())};
}

Values batch_norm_backward_reduce(const Call&, const Values& in, const Values&) {
  const Tensor grad = wide(in[0].toTensor()), input = wide(in[1].toTensor());
  const auto dims = all_but_channels(input);
  const Tensor sum = grad.sum(dims);
  const Tensor with_input = (grad * (input - by_channel(in[2].toTensor(), input))).sum(dims);
  const auto asked = [&in](std::size_t flag, const Tensor& value) {
    return in[flag].toBool() ? value : Tensor();
  };
  const bool given = in[4].isTensor() && in[4].toTensor().defined();
  const auto type = given ? in[4].toTensor().scalar_type() : sum.scalar_type();
  const Tensor of_weight = (with_input * wide(in[3].toTensor())).to(type);
  return {asked(5, sum), asked(5, with_input), given ? asked(6, of_weight) : Tensor(),
          given ? asked(7, sum.to(type)) : Tensor()};
}

Values batch_norm_backward_elements(const Call&, const Values& in, const Values&) {
  const Tensor& given = in[1].toTensor();
  const Tensor grad = wide(in[0].toTensor()), input = wide(given);
  const Tensor mean = by_channel(in[2].toTensor(), input);
  const Tensor inverse = by_channel(in[3].toTensor(), input);
  const Tensor count = wide(in[7].toTensor()).sum();
  const Tensor sum = by_channel(in[5].toTensor(), input) / count;
  const Tensor with_input = by_channel(in[6].toTensor(), input) / count;
  const Tensor out = (grad - sum - (input - mean) * inverse.square() * with_input) * inverse;
  return {scaled(out, in[4], input).to(given.scalar_type())};
}

}  // namespace flopcast::plugin
