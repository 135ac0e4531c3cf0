#include "live/standin/torch/execute.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string_view>
#include <utility>

#include "live/standin/torch/placed.h"
#include "live/standin/torch/random.h"
#include "live/standin/torch/replay.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

thread_local int launches_only = 0;

/// Elements of what only fills memory, as the core fills it (1 MiB of fp32: masks begin as zeros), or moves numbers: a model's
/// parameters and gradients, each small, lie in one tensor where they are sent (4 MiB, as collectives carry).
constexpr std::int64_t kMostFilled = std::int64_t{1} << 18, kMostMoved = std::int64_t{1} << 20;
const std::map<std::string_view, std::int64_t> kMost = {
    {"aten::zero_", kMostFilled},         {"aten::fill_.Scalar", kMostFilled},
    {"aten::copy_", kMostMoved},          {"aten::cat", kMostMoved},
    {"aten::_foreach_copy_", kMostMoved}, {"aten::_chunk_cat", kMostMoved},
    {"aten::_chunk_cat.out", kMostMoved}, {"aten::split_with_sizes_copy.out", kMostMoved},
};

bool is_narrow(c10::ScalarType type) {
  return c10::isFloatingType(type) && c10::elementSize(type) < 4;
}

/// Arguments as the CPU sees them.
class OnCpu {
 public:
  /// @param widened narrow floating-point numbers as fp32: the CPU has not all kernels for them
  OnCpu(const Call& call, bool widened) : call_(call), widened_(widened) {
    arguments_.reserve(call.arguments.size());
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      arguments_.push_back(converted(call.arguments[i], i));
  }
  const Values& arguments() const { return arguments_; }
  bool widened_any() const { return widened_any_; }

  /// What was written into copies goes to where it belongs.
  void write_back() {
    for (auto& [tensor, copy] : wide_) as_cpu(tensor).copy_(copy);
    for (auto& [tensor, copy] : grown_) {
      tensor.resize_(copy.sizes());
      write(tensor, copy);
    }
  }

 private:
  at::Tensor converted(const at::Tensor& tensor, std::size_t argument) {
    if (!tensor.defined()) return tensor;
    const bool written = call_.what.arguments[argument].written;
    if (written && call_.what.shape_by_data && of_gpu(tensor)) {
      grown_.emplace_back(tensor, at::empty({0}, tensor.options().device(at::kCPU)));
      return grown_.back().second;
    }
    at::Tensor same = as_cpu(tensor);
    if (!widened_ || !is_narrow(tensor.scalar_type())) return same;
    same = same.to(at::kFloat);
    widened_any_ = true;
    if (written) wide_.emplace_back(tensor, same);
    return same;
  }

  c10::IValue converted(const c10::IValue& value, std::size_t argument) {
    if (value.isTensor()) return converted(value.toTensor(), argument);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const c10::IValue& item : value.toListRef())
        list.push_back(converted(item.toTensor(), argument));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const c10::IValue& item : value.toListRef()) {
        list.push_back(item.isTensor() && item.toTensor().defined()
                           ? std::optional(converted(item.toTensor(), argument))
                           : std::nullopt);
      }
      return list;
    }
    if (value.isDevice()) return at::Device(at::kCPU);
    if (static_cast<int>(argument) == call_.what.generator)
      return call_.seed ? c10::IValue(generator_from(*call_.seed)) : c10::IValue();
    return value;
  }

  const Call& call_;
  bool widened_, widened_any_ = false;
  Values arguments_;
  std::vector<std::pair<at::Tensor, at::Tensor>> wide_, grown_;  ///< a GPU's, the copy
};

Values computed(const Call& call, OnCpu& on_cpu, const Values& outputs) {
  const at::AutoDispatchBelowAutograd no_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  if (call.what.emulation) return call.what.emulation(call, on_cpu.arguments(), outputs);
  Values stack = on_cpu.arguments();
  call.handle.redispatchBoxed(c10::DispatchKeySet(call.what.on_cpu), &stack);
  return stack;
}

/// As the CPU computes it; in fp32 where it has no kernel for narrower numbers.
Values values_of(const Call& call, const Values& outputs) {
  std::exception_ptr reason;
  for (const bool widened : {false, true}) {
    OnCpu on_cpu(call, widened);
    if (widened && !on_cpu.widened_any()) break;
    try {
      Values values = computed(call, on_cpu, outputs);
      on_cpu.write_back();
      return values;
    } catch (...) {
      if (!reason) reason = std::current_exception();
    }
  }
  std::rethrow_exception(reason);
}

void take_tensor(at::Tensor& output, const at::Tensor& values, c10::Device device) {
  if (!values.defined()) return;
  if (of_gpu(output) && output.sizes() == values.sizes()) {
    write(output, values);
  } else if (!output.defined() || output.is_cuda()) {
    output = on_gpu(values, device);
  } else {
    output = values;
  }
}

/// One of the values that an operator returns. None stays what PyTorch's own kernel has returned.
void take(c10::IValue& output, const c10::IValue& value, const Call& call) {
  if (value.isTensor()) {
    at::Tensor tensor = output.isTensor() ? output.toTensor() : at::Tensor();
    take_tensor(tensor, value.toTensor(), call.device);
    output = std::move(tensor);
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> tensors =
        output.isTensorList() ? output.toTensorVector() : std::vector<at::Tensor>();
    const std::vector<at::Tensor> values = value.toTensorVector();
    tensors.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) take_tensor(tensors[i], values[i], call.device);
    output = c10::List<at::Tensor>(tensors);
  } else if (value.isNone() && output.isNone()) {
    output = at::Tensor();
  } else if (value.isNone()) {
    each_tensor(output, [](const at::Tensor& tensor) {
      if (of_gpu(tensor)) mark_valid(tensor);
    });
  } else {
    output = value;
  }
}

void mark_written(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (!call.what.arguments[i].written) continue;
    each_tensor(call.arguments[i], [](const at::Tensor& tensor) {
      if (of_gpu(tensor)) mark_valid(tensor);
    });
  }
}

/// Of outputs that are there; those that are no strided memory have no bytes to write.
bool cannot_hold(const Call& call, const Values& outputs) {
  bool integral = true, plain = true;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < std::min(outputs.size(), call.what.scratch); ++i) {
    each_tensor(outputs[i], [&](const at::Tensor& tensor) {
      plain = plain && (of_gpu(tensor) || !tensor.is_cuda());
      most = std::max(most, tensor.numel());
      integral = integral && c10::isIntegralType(tensor.scalar_type(), true);
    });
  }
  const bool all = integral || call.what.shape_by_data;
  return !plain || most > (all ? flopcast_live_values()->integers : most_of_numbers(call.what));
}

/// PyTorch's own kernel, for its launches. @return why it failed, where that does not matter
std::exception_ptr launch(const Call& call, Values& stack) {
  const OnlyLaunches quiet;
  const std::uint64_t before = flopcast_live_shortfalls();
  try {
    call.what.original->callBoxed(call.handle, call.keys, &stack);
    return nullptr;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::exception&) {
    // Over what it was told: values do not depend on it.
    if (flopcast_live_shortfalls() == before) throw;
    return std::current_exception();
  }
}

/// The last values of a stack: what the operator returned.
Values outputs_of(const Operator& what, const Values& stack) {
  const auto count = static_cast<std::ptrdiff_t>(what.same_as.size());
  return Values(stack.end() - count, stack.end());
}

/// Whether it is an argument that the operator only reads: attention returns the lengths that it was given.
bool is_read_argument(const Call& call, const at::Tensor& output) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.what.arguments[i].written || !call.arguments[i].isTensor()) continue;
    if (output.is_same(call.arguments[i].toTensor())) return true;
  }
  return false;
}

/// All that it wrote and returned.
void taint_outputs(const Call& call, const Values& outputs) {
  const auto taint_of_gpu = [](const at::Tensor& tensor) {
    if (of_gpu(tensor)) taint(tensor);
  };
  for (const c10::IValue& output : outputs) {
    each_tensor(output, [&](const at::Tensor& tensor) {
      if (!is_read_argument(call, tensor)) taint_of_gpu(tensor);
    });
  }
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.what.arguments[i].written) each_tensor(call.arguments[i], taint_of_gpu);
  }
}

/// Outputs that are arguments, where there are no others.
void return_arguments(const Call& call, Values& outputs) {
  outputs.resize(call.what.same_as.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const int same = call.what.same_as[i]; same >= 0)
      outputs[i] = call.arguments[static_cast<std::size_t>(same)];
  }
}

/// Values that the CPU computes. Throws what its kernel throws.
void compute(const Call& call, Values& outputs, bool failed) {
  const OwnWork own_work;
  const bool places = !failed && !reads_only_valid(call);
  const Values values = values_of(call, outputs);
  if (places)
    mark_placed(call, OnCpu(call, false).arguments());
  else
    mark_written(call);
  if (failed) return_arguments(call, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (call.what.same_as[i] < 0) take(outputs[i], values[i], call);
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Values end here, if all that it reads is valid.
void tell_origin(const Call& call, const std::string& why) {
  if (flopcast_live_origin_wanted() && reads_only_valid(call))
    flopcast_live_not_computed(call.what.name.c_str(), why.c_str());
}

std::string why_not_computed(const Call& call, const Values& outputs) {
  if (!call.what.executable) return "the CPU has no kernel for it";
  if (!call.plain) return "its tensors are no strided memory of a GPU";
  std::int64_t most = 0;
  const auto look = [&most](const at::Tensor& tensor) { most = std::max(most, tensor.numel()); };
  for (const Values* const list : {&call.arguments, &outputs})
    for (const c10::IValue& value : *list) each_tensor(value, look);
  return std::to_string(most) + " elements, more than --values execute:N allows";
}

/// Taint, and what is assumed in spite of it.
void assume_outputs(const Call& call, Values& outputs, bool failed) {
  if (flopcast_live_origin_wanted()) tell_origin(call, why_not_computed(call, outputs));
  taint_outputs(call, outputs);
  if (failed) return_arguments(call, outputs);
  if (!call.what.policy || !call.plain || call.sparse) return;
  const OwnWork own_work;
  const at::AutoDispatchBelowAutograd no_autograd;
  call.what.policy(call, outputs);
}

/// Puts outputs where the arguments were.
void put(Values& stack, std::size_t below, const Values& outputs) {
  stack.resize(below);
  stack.insert(stack.end(), outputs.begin(), outputs.end());
}

}  // namespace

std::int64_t most_of_numbers(const Operator& what) {
  const auto special = kMost.find(what.name);
  const std::int64_t elements = flopcast_live_values()->elements;
  return special == kMost.end() ? elements : std::max(elements, special->second);
}

OwnWork::OwnWork() { flopcast_live_own_work(true); }
OwnWork::~OwnWork() { flopcast_live_own_work(false); }

bool only_launches() { return launches_only > 0; }
OnlyLaunches::OnlyLaunches() {
  ++launches_only;
  flopcast_live_launches_only(true);
}
OnlyLaunches::~OnlyLaunches() {
  --launches_only;
  flopcast_live_launches_only(false);
}

namespace {

bool says_unread(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  return value.isScalar() && value.toScalar().equal(0);
}

}  // namespace

bool reads_only_valid(const Call& call, std::size_t from) {
  for (std::size_t i = from; i < call.arguments.size(); ++i) {
    const Operator::Argument& argument = call.what.arguments[i];
    if (!argument.read) continue;
    if (argument.unread_if >= 0 &&
        says_unread(call.arguments[static_cast<std::size_t>(argument.unread_if)]))
      continue;
    bool valid = true;
    each_tensor(call.arguments[i], [&](const at::Tensor& tensor) {
      valid = valid && (!tensor.is_cuda() || is_valid(tensor));
    });
    if (!valid) return false;
  }
  return true;
}

bool is_computable(const Call& call) { return reads_only_valid(call) || only_places(call); }

void execute(Call& call, Values& stack) {
  const std::size_t below = stack.size() - call.arguments.size();
  if (call.what.random) call.seed = seed_of(call);
  const std::exception_ptr failed = launch(call, stack);
  Values outputs = failed ? Values() : outputs_of(call.what, stack);
  if (flopcast_live_captured()) return keep_for_replays(call, outputs, true);
  if (!failed && (cannot_hold(call, outputs) || !is_computable(call)))
    return assume_outputs(call, outputs, false);
  try {
    compute(call, outputs, failed != nullptr);
  } catch (const std::exception& error) {
    if (failed) throw;  // it says more than a library that is not there
    tell_origin(call, first_line(error.what()));
    return taint_outputs(call, outputs);
  }
  put(stack, below, outputs);
}

void assume(Call& call, Values& stack) {
  const std::size_t below = stack.size() - call.arguments.size();
  const bool told_shape = call.what.shape_by_data && call.what.policy;
  std::exception_ptr failed;
  if (told_shape) {
    failed = launch(call, stack);
  } else {
    call.what.original->callBoxed(call.handle, call.keys, &stack);
  }
  Values outputs = failed ? Values() : outputs_of(call.what, stack);
  if (flopcast_live_captured()) return keep_for_replays(call, outputs, false);
  assume_outputs(call, outputs, failed != nullptr);
  put(stack, below, outputs);
}

void replay(Call& call, Values& outputs, bool small) {
  if (call.what.random) call.seed = seed_of_replay(call);
  if (!small || cannot_hold(call, outputs) || !is_computable(call))
    return assume_outputs(call, outputs, false);
  try {
    compute(call, outputs, false);
  } catch (const std::exception& error) {
    tell_origin(call, first_line(error.what()));
    taint_outputs(call, outputs);
  }
}

}  // namespace flopcast::plugin
