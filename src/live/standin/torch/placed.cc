#include "live/standin/torch/placed.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <map>

#include "live/standin/torch/execute.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// The argument of the numbers, and the one that says whether they are added.
struct Placing {
  int numbers, adds = -1;
};
const std::map<std::string_view, Placing> kPlacing = {
    {"aten::_index_put_impl_", {2, 3}},
    {"aten::index_put_", {2, 3}},
    {"aten::index_copy_", {3}},
    {"aten::scatter_.src", {3}},
    {"aten::scatter_.value", {3}},
    {"aten::index_fill_.int_Scalar", {3}},
    {"aten::index_fill_.int_Tensor", {3}},
    {"aten::masked_fill_.Scalar", {2}},
    {"aten::masked_fill_.Tensor", {2}},
    {"aten::masked_scatter_", {2}},
};

bool adds(const Call& call) {
  const int argument = kPlacing.at(call.what.name).adds;
  return argument >= 0 && call.arguments[static_cast<std::size_t>(argument)].toBool();
}

/// Which elements the call writes: booleans, of the first argument's sizes.
at::Tensor places_of(const Call& call, const Values& arguments) {
  const at::AutoDispatchBelowAutograd no_autograd;
  Values stack = arguments;
  c10::IValue& numbers = stack[static_cast<std::size_t>(call.what.placed)];
  numbers = numbers.isTensor() ? c10::IValue(at::ones_like(numbers.toTensor(), at::kBool))
                               : c10::IValue(at::Scalar(true));
  const at::Tensor places = at::zeros(arguments[0].toTensor().sizes(), at::kBool);
  stack[0] = places;
  call.handle.redispatchBoxed(c10::DispatchKeySet(call.what.on_cpu), &stack);
  return places;
}

}  // namespace

int placed_argument(std::string_view name) {
  const auto found = kPlacing.find(name);
  return found == kPlacing.end() ? -1 : found->second.numbers;
}

bool only_places(const Call& call) {
  return call.what.placed >= 0 && !adds(call) && reads_only_valid(call, 1);
}

void mark_placed(const Call& call, const Values& arguments) {
  const at::Tensor &to = call.arguments[0].toTensor(), places = places_of(call, arguments);
  if (places.all().item<bool>()) return mark_valid(to);
  // Of another order they stay tainted, which is never wrong.
  if (!to.is_contiguous()) return;
  const char* const first = static_cast<const char*>(to.const_data_ptr());
  const bool *const begin = places.const_data_ptr<bool>(), *const end = begin + places.numel();
  for (const bool *from = begin, *until; from != end; from = until) {
    until = std::find(from, end, !*from);
    if (!*from) continue;
    flopcast_live_mark_valid(first + (from - begin) * to.itemsize(),
                             static_cast<std::size_t>(until - from) * to.itemsize());
  }
}

}  // namespace flopcast::plugin
