#include "live/standin/torch/recurrent.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>

#include "live/standin/torch/random.h"

namespace flopcast::plugin {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

Tensor given_or_none(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : Tensor();
}
c10::IValue none_if_undefined(const Tensor& tensor) {
  return tensor.defined() ? tensor : c10::IValue();
}

/// As cuDNN numbers them.
enum Kind : std::int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

struct Stack {
  Kind kind = kTanh;
  std::int64_t layers = 1;
  bool batch_first = false, train = false, both_ways = false;
  double dropout = 0;
  std::int64_t weights_of_one = 4;  ///< layer and direction
  Tensor batch_sizes;               ///< of packed sequences
  std::uint64_t seed = 0;           ///< of what is dropped between layers

  /// Arguments from "mode" on are the same forward and backward.
  Stack(const Values& in, std::size_t mode)
      : kind(static_cast<Kind>(in[mode].toInt())),
        layers(in[mode + 3].toInt()),
        batch_first(in[mode + 4].toBool()),
        train(in[mode + 6].toBool()),
        both_ways(in[mode + 7].toBool()),
        dropout(in[mode + 5].toDouble()),
        weights_of_one(in[2].toInt()) {
    if (const auto sizes = in[mode + 8].toIntVector(); !sizes.empty())
      batch_sizes = at::tensor(sizes, at::kLong);
  }
  bool drops() const { return train && dropout > 0 && layers > 1; }
};

struct Made {
  Tensor out, hidden, cell;
};

/// One layer, in both directions where there are two.
Made layer_of(const Stack& s, const Tensor& x, const Tensor& hidden, const Tensor& cell,
              const Tensors& weights) {
  const bool biases = s.weights_of_one >= 4;
  const bool packed = s.batch_sizes.defined();
  if (s.kind == kLstm) {
    const Tensors state = {hidden, cell};
    auto [out, h, c] =
        packed ? at::lstm(x, s.batch_sizes, state, weights, biases, 1, 0.0, s.train, s.both_ways)
               : at::lstm(x, state, weights, biases, 1, 0.0, s.train, s.both_ways, s.batch_first);
    return {out, h, c};
  }
  const auto run = [&](auto&& of_packed, auto&& of_whole) -> Made {
    auto [out, h] =
        packed ? of_packed(x, s.batch_sizes, hidden, weights, biases, 1, 0.0, s.train, s.both_ways)
               : of_whole(x, hidden, weights, biases, 1, 0.0, s.train, s.both_ways, s.batch_first);
    return {out, h, {}};
  };
#define FLOPCAST_BOTH(name) \
  [](auto&&... a) { return at::name(a...); }, [](auto&&... a) { return at::name(a...); }
  if (s.kind == kGru) return run(FLOPCAST_BOTH(gru));
  if (s.kind == kRelu) return run(FLOPCAST_BOTH(rnn_relu));
  return run(FLOPCAST_BOTH(rnn_tanh));
#undef FLOPCAST_BOTH
}

/// All layers. What is dropped between them is the same each time for the same seed.
Made layers_of(const Stack& s, Tensor x, const Tensor& hidden, const Tensor& cell,
               const Tensors& weights) {
  const std::int64_t ways = s.both_ways ? 2 : 1;
  const auto each = static_cast<std::size_t>(s.weights_of_one * ways);
  at::Generator generator = generator_from(s.seed);
  Tensors all_hidden, all_cells;
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const auto begin =
        weights.begin() + static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(each);
    const Tensors own(begin, begin + static_cast<std::ptrdiff_t>(each));
    const auto part = [&](const Tensor& of) {
      return of.defined() && of.numel() > 0 ? of.narrow(0, i * ways, ways).contiguous() : Tensor();
    };
    Made made = layer_of(s, x, part(hidden), part(cell), own);
    x = made.out;
    if (s.drops() && i + 1 < s.layers)
      x = x * at::empty_like(x).bernoulli_(1 - s.dropout, generator).detach() / (1 - s.dropout);
    all_hidden.push_back(made.hidden);
    if (made.cell.defined()) all_cells.push_back(made.cell);
  }
  return {x, at::cat(all_hidden), all_cells.empty() ? Tensor() : at::cat(all_cells)};
}

/// The seed goes from forward to backward in what cuDNN reserves for itself.
Tensor reserved(const Stack& s, const Values& outputs) {
  const Tensor as = outputs.size() > 3 ? given_or_none(outputs[3]) : Tensor();
  if (!s.drops() || !as.defined() || as.nbytes() < sizeof s.seed) return {};
  Tensor made = at::zeros(as.sizes(), as.options().device(at::kCPU));
  std::memcpy(made.mutable_data_ptr(), &s.seed, sizeof s.seed);
  return made;
}

Tensor with_gradient(const Tensor& of) {
  return of.defined() ? of.detach().clone().set_requires_grad(true) : of;
}

}  // namespace

Values recurrent_layers(const Call& call, const Values& in, const Values& outputs) {
  Stack s(in, 6);
  if (s.drops()) s.seed = seed_of_replay(call).value_or(0);
  const Made made = layers_of(s, in[0].toTensor(), in[4].toTensor(), given_or_none(in[5]),
                              in[1].toTensorVector());
  return {made.out, made.hidden, none_if_undefined(made.cell),
          none_if_undefined(reserved(s, outputs)), c10::IValue()};
}

Values recurrent_layers_backward(const Call&, const Values& in, const Values&) {
  Stack s(in, 10);
  const Tensor reserve = in[20].toTensor();
  if (s.drops() && reserve.nbytes() >= sizeof s.seed)
    std::memcpy(&s.seed, reserve.const_data_ptr(), sizeof s.seed);
  // Autograd as a program of the CPU has it, whatever calls this.
  const c10::impl::ForceDispatchKeyGuard plain(c10::default_included_set,
                                               c10::default_excluded_set);
  const at::AutoGradMode records(true);
  const Tensor x = with_gradient(in[0].toTensor()), hidden = with_gradient(in[4].toTensor());
  const Tensor cell = with_gradient(given_or_none(in[5]));
  Tensors weights;
  for (const Tensor& one : in[1].toTensorVector()) weights.push_back(with_gradient(one));
  const Made made = layers_of(s, x, hidden, cell, weights);
  Tensors ends, gradients;
  const Tensor results[] = {made.out, made.hidden, made.cell};
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor gradient = given_or_none(in[7 + i]);
    if (!gradient.defined() || !results[i].defined()) continue;
    ends.push_back(results[i]);
    gradients.push_back(gradient);
  }
  Tensors of = {x, hidden};
  if (cell.defined()) of.push_back(cell);
  const std::size_t first_weight = of.size();
  of.insert(of.end(), weights.begin(), weights.end());
  Tensors all = torch::autograd::grad(ends, of, gradients, std::nullopt, false, true);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].defined()) all[i] = at::zeros_like(of[i]);
  const auto wanted = in[21].toBoolList();
  const Tensors of_weights(all.begin() + static_cast<std::ptrdiff_t>(first_weight), all.end());
  return {wanted.get(0) ? c10::IValue(all[0].detach()) : c10::IValue(),
          wanted.get(1) ? c10::IValue(all[1].detach()) : c10::IValue(),
          wanted.get(2) && cell.defined() ? c10::IValue(all[2].detach()) : c10::IValue(),
          wanted.get(3) ? c10::List<Tensor>(of_weights) : c10::List<Tensor>()};
}

// --- Cells --------------------------------------------------------------------------------------

namespace {

Tensor gates_of(const Values& in, std::size_t gates, std::size_t bias) {
  const Tensor b = given_or_none(in[bias]);
  return b.defined() ? in[gates].toTensor() + b : in[gates].toTensor();
}
Tensor or_zeros(const c10::IValue& value, const Tensor& like) {
  const Tensor given = given_or_none(value);
  return given.defined() ? given : at::zeros_like(like);
}

}  // namespace

/// The workspace has the gates: in, forget, cell, out.
Values lstm_cell(const Call&, const Values& in, const Values&) {
  const Tensors gates = (gates_of(in, 0, 3) + gates_of(in, 1, 4)).chunk(4, 1);
  const Tensor i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(),
               o = gates[3].sigmoid();
  const Tensor cell = f * in[2].toTensor() + i * g;
  return {o * cell.tanh(), cell, at::cat({i, f, g, o}, 1)};
}

Values lstm_cell_backward(const Call&, const Values& in, const Values&) {
  const Tensor &cell_before = in[2].toTensor(), &cell = in[3].toTensor();
  const Tensors gates = in[4].toTensor().chunk(4, 1);
  const Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const Tensor of_hidden = or_zeros(in[0], cell), bent = cell.tanh();
  const Tensor of_cell = of_hidden * o * (1 - bent * bent) + or_zeros(in[1], cell);
  const Tensor of_gates = at::cat({of_cell * g * i * (1 - i), of_cell * cell_before * f * (1 - f),
                                   of_cell * i * (1 - g * g), of_hidden * bent * o * (1 - o)},
                                  1);
  return {of_gates, of_cell * f, in[5].toBool() ? c10::IValue(of_gates.sum(0)) : c10::IValue()};
}

/// The workspace has the gates reset, update and new, the state before, and what the reset gate is multiplied with.
Values gru_cell(const Call&, const Values& in, const Values&) {
  const Tensors x = gates_of(in, 0, 3).chunk(3, 1), h = gates_of(in, 1, 4).chunk(3, 1);
  const Tensor& before = in[2].toTensor();
  const Tensor r = (x[0] + h[0]).sigmoid(), z = (x[1] + h[1]).sigmoid();
  const Tensor n = (x[2] + r * h[2]).tanh();
  return {n + z * (before - n), at::cat({r, z, n, before, h[2]}, 1)};
}

Values gru_cell_backward(const Call&, const Values& in, const Values&) {
  const Tensors kept = in[1].toTensor().chunk(5, 1);
  const Tensor &r = kept[0], &z = kept[1], &n = kept[2], &before = kept[3], &of_reset = kept[4];
  const Tensor& grad = in[0].toTensor();
  const Tensor of_n = grad * (1 - z) * (1 - n * n), of_z = grad * (before - n) * z * (1 - z);
  const Tensor of_r = of_n * of_reset * r * (1 - r);
  const Tensor of_x = at::cat({of_r, of_z, of_n}, 1), of_h = at::cat({of_r, of_z, of_n * r}, 1);
  const bool biases = in[2].toBool();
  return {of_x, of_h, grad * z, biases ? c10::IValue(of_x.sum(0)) : c10::IValue(),
          biases ? c10::IValue(of_h.sum(0)) : c10::IValue()};
}

}  // namespace flopcast::plugin
