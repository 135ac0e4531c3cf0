#include "live/standin/torch/policies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>

#include "live/standin/torch/routing.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

using at::Tensor;

/// Values of the CPU in place of an output, marked valid.
void give(const Call& call, c10::IValue& output, const Tensor& values) {
  Tensor own = output.isTensor() ? output.toTensor() : Tensor();
  if (of_gpu(own) && own.sizes() == values.sizes()) {
    write(own, values);
  } else {
    own = on_gpu(own.defined() ? values.to(own.scalar_type()) : values, call.device);
  }
  output = own;
  flopcast_live_assumed();
}

/// A tensor of the GPU of which nothing but the shape is known.
Tensor unknown(at::IntArrayRef sizes, const Tensor& like, c10::Device device) {
  const Tensor made = at::empty(sizes, like.options().device(device));
  taint(made);
  return made;
}

/// Answers to questions about more elements are not made: a mask of them all would take long.
constexpr std::int64_t kMostAnswers = std::int64_t{1} << 22;

Tensor counted(std::int64_t count) { return at::arange(count, at::kLong); }

const Tensor& tensor_at(const Call& call, std::size_t argument) {
  return call.arguments[argument].toTensor();
}

// --- shapes ---------------------------------------------------------------------------------------

/// Every second element of a tensor, as an index by dimension.
void half_of_all(const Call& call, Values& outputs) {
  const Tensor& self = tensor_at(call, 0);
  Tensor places = at::arange(0, self.numel(), 2, at::kLong);
  const std::int64_t dims = self.dim();
  Tensor index = at::empty({places.size(0), dims}, at::kLong);
  for (std::int64_t d = dims - 1; d >= 0; --d) {
    index.select(1, d).copy_(places.remainder(self.size(d)));
    places = places.div(self.size(d), "floor");
  }
  give(call, outputs[0], index);
}

void masked_select(const Call& call, Values& outputs) {
  const Tensor &self = tensor_at(call, 0), &mask = tensor_at(call, 1);
  const std::vector<std::int64_t> sizes = at::infer_size(self.sizes(), mask.sizes());
  const std::int64_t all = c10::multiply_integers(sizes);
  const std::int64_t count =
      is_valid(mask) ? as_cpu(mask).expand(sizes).sum().item<std::int64_t>() : (all + 1) / 2;
  outputs[0] = unknown({count}, self, call.device);
}

/// All are different. @param count of elements, or of slices
void all_different(const Call& call, Values& outputs, const Tensor& values, std::int64_t count,
                   at::IntArrayRef sizes) {
  outputs[0] = values;
  give(call, outputs[1], counted(count).reshape(sizes));
  give(call, outputs[2], at::ones({count}, at::kLong));
}

void unique(const Call& call, Values& outputs) {
  const Tensor& self = tensor_at(call, 0);
  all_different(call, outputs, unknown({self.numel()}, self, call.device), self.numel(),
                self.sizes());
}

void unique_slices(const Call& call, Values& outputs, const c10::IValue& dim) {
  if (dim.isNone()) return unique(call, outputs);
  const Tensor& self = tensor_at(call, 0);
  const std::int64_t count = self.size(dim.toInt());
  all_different(call, outputs, unknown(self.sizes(), self, call.device), count, {count});
}
void unique_dim(const Call& call, Values& outputs) {
  unique_slices(call, outputs, call.arguments[1]);
}
void unique_consecutive(const Call& call, Values& outputs) {
  unique_slices(call, outputs, call.arguments[3]);
}

void bincount(const Call& call, Values& outputs) {
  const std::int64_t all = tensor_at(call, 0).numel();
  const std::int64_t bins = std::max<std::int64_t>(1, call.arguments[2].toInt());
  give(call, outputs[0], (counted(bins) + all).div(bins, "floor"));
}

/// Each as often as the others, in order; once where no total is told.
void repeat_evenly(const Call& call, Values& outputs) {
  const std::int64_t count = tensor_at(call, 0).numel();
  const c10::IValue& told = call.arguments[1];
  const std::int64_t total = told.isNone() ? count : told.toInt();
  give(call, outputs[0], (counted(total) * count).div(std::max<std::int64_t>(1, total), "floor"));
}

// --- choices --------------------------------------------------------------------------------------

/// The sizes of a tensor with this many choices along a dimension, filled by the law of routing.
Tensor choices(const Tensor& scores, std::int64_t dim, std::int64_t count) {
  if (scores.dim() == 0) return at::zeros({}, at::kLong);
  dim = at::maybe_wrap_dim(dim, scores.dim());
  std::vector<std::int64_t> sizes = scores.sizes().vec();
  const std::int64_t among = std::exchange(sizes[static_cast<std::size_t>(dim)], count);
  const std::int64_t all = c10::multiply_integers(sizes);
  // Rows first, then where they belong.
  std::swap(sizes[static_cast<std::size_t>(dim)], sizes.back());
  const std::int64_t rows = count > 0 ? all / count : 0;
  return route(rows, among, count).reshape(sizes).transpose(dim, -1).contiguous();
}

void top(const Call& call, Values& outputs) {
  give(call, outputs[1],
       choices(tensor_at(call, 0), call.arguments[2].toInt(), call.arguments[1].toInt()));
}

/// Of operators that return values and where they were: (self, dim, keepdim).
void best(const Call& call, Values& outputs) {
  const Tensor& self = tensor_at(call, 0);
  const std::int64_t dim = call.arguments[1].toInt();
  const Tensor one = choices(self, dim, 1);
  give(call, outputs[1], call.arguments[2].toBool() || self.dim() == 0 ? one : one.squeeze(dim));
}

/// argmax and argmin: where, and nothing else.
void place_of_best(const Call& call, Values& outputs) {
  const Tensor& self = tensor_at(call, 0);
  if (call.arguments[1].isNone()) {
    give(call, outputs[0], at::zeros(outputs[0].toTensor().sizes(), at::kLong));
    return;
  }
  const std::int64_t dim = call.arguments[1].toInt();
  const Tensor one = choices(self, dim, 1);
  give(call, outputs[0], call.arguments[2].toBool() || self.dim() == 0 ? one : one.squeeze(dim));
}

void sample(const Call& call, Values& outputs) {
  give(call, outputs[0], choices(tensor_at(call, 0), -1, call.arguments[1].toInt()));
}

/// All are alike, and a stable sort leaves them where they are.
void as_they_are(const Call& call, Values& outputs) {
  const Tensor& self = tensor_at(call, 0);
  if (self.dim() == 0) return give(call, outputs[1], at::zeros({}, at::kLong));
  const std::size_t dim_argument = call.what.name == "aten::sort" ? 1 : 2;
  const std::int64_t dim = at::maybe_wrap_dim(call.arguments[dim_argument].toInt(), self.dim());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(self.dim()), 1);
  shape[static_cast<std::size_t>(dim)] = self.size(dim);
  give(call, outputs[1], counted(self.size(dim)).reshape(shape).expand(self.sizes()));
}

// --- questions ------------------------------------------------------------------------------------

/// The last masks of this thread that are true everywhere, too large to be made.
class AllTrue {
 public:
  static AllTrue& get() {
    static thread_local AllTrue own;
    return own;
  }
  void add(const Tensor& mask) {
    last_[next_++ % last_.size()] = {mask.const_data_ptr(), mask.numel()};
  }
  bool has(const Tensor& mask) const {
    const std::pair<const void*, std::int64_t> sought{mask.const_data_ptr(), mask.numel()};
    return std::find(last_.begin(), last_.end(), sought) != last_.end();
  }

 private:
  std::array<std::pair<const void*, std::int64_t>, 8> last_{};
  std::size_t next_ = 0;
};

void all_of_it(const Call& call, Values& outputs, bool answer) {
  const Tensor& own = outputs[0].toTensor();
  if (own.scalar_type() != at::kBool) return;
  if (own.numel() <= kMostAnswers) {
    give(call, outputs[0], at::full(own.sizes(), answer, at::kBool));
  } else if (answer) {
    AllTrue::get().add(own);
  }
}

/// Both are true, and so is the result.
void both(const Call& call, Values& outputs) {
  const AllTrue& known = AllTrue::get();
  if (known.has(tensor_at(call, 0)) && known.has(tensor_at(call, 1)))
    all_of_it(call, outputs, true);
}
void every_one(const Call& call, Values& outputs) {
  if (AllTrue::get().has(tensor_at(call, 0))) all_of_it(call, outputs, true);
}

void no(const Call& call, Values& outputs) { all_of_it(call, outputs, false); }

/// Numbers are themselves: none is NaN.
void same_as_itself(const Call& call, Values& outputs) {
  const Tensor &one = tensor_at(call, 0), &other = tensor_at(call, 1);
  const bool same = one.is_same(other) || (one.numel() == other.numel() && one.numel() > 0 &&
                                           one.const_data_ptr() == other.const_data_ptr());
  if (same) all_of_it(call, outputs, call.what.name == "aten::eq.Tensor");
}

/// Numbers are finite. @param answer for a comparison with infinity
void against_infinity(const Call& call, Values& outputs) {
  const at::Scalar other = call.arguments[1].toScalar();
  if (!other.isFloatingPoint() || !std::isinf(other.toDouble())) return;
  const bool above = other.toDouble() > 0;
  const std::string_view name = call.what.name;
  const bool below_it = name == "aten::lt.Scalar" || name == "aten::le.Scalar";
  const bool above_it = name == "aten::gt.Scalar" || name == "aten::ge.Scalar";
  all_of_it(call, outputs, name == "aten::ne.Scalar" || (above ? below_it : above_it));
}

struct Rule {
  Policy policy;
  bool shape;
};

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> all = {
      {"aten::nonzero", {half_of_all, true}},
      {"aten::masked_select", {masked_select, true}},
      {"aten::_unique2", {unique, true}},
      {"aten::unique_dim", {unique_dim, true}},
      {"aten::unique_consecutive", {unique_consecutive, true}},
      {"aten::bincount", {bincount, true}},
      {"aten::repeat_interleave.Tensor", {repeat_evenly, true}},
      {"aten::nonzero.out", {nullptr, true}},
      {"aten::masked_select.out", {nullptr, true}},
      {"aten::multinomial", {sample, true}},
      {"aten::topk", {top, false}},
      {"aten::max.dim", {best, false}},
      {"aten::min.dim", {best, false}},
      {"aten::mode", {best, false}},
      {"aten::median.dim", {best, false}},
      {"aten::argmax", {place_of_best, false}},
      {"aten::argmin", {place_of_best, false}},
      {"aten::sort", {as_they_are, false}},
      {"aten::sort.stable", {as_they_are, false}},
      {"aten::mul.Tensor", {both, false}},
      {"aten::logical_and", {both, false}},
      {"aten::bitwise_and.Tensor", {both, false}},
      {"aten::all", {every_one, false}},
      {"aten::isnan", {no, false}},
      {"aten::isinf", {no, false}},
      {"aten::isposinf", {no, false}},
      {"aten::isneginf", {no, false}},
      {"aten::eq.Tensor", {same_as_itself, false}},
      {"aten::ne.Tensor", {same_as_itself, false}},
      {"aten::eq.Scalar", {against_infinity, false}},
      {"aten::ne.Scalar", {against_infinity, false}},
      {"aten::lt.Scalar", {against_infinity, false}},
      {"aten::le.Scalar", {against_infinity, false}},
      {"aten::gt.Scalar", {against_infinity, false}},
      {"aten::ge.Scalar", {against_infinity, false}},
  };
  return all;
}

}  // namespace

Policy policy_of(std::string_view name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : found->second.policy;
}

bool shape_by_data(std::string_view name) {
  const auto found = rules().find(name);
  return found != rules().end() && found->second.shape;
}

}  // namespace flopcast::plugin
