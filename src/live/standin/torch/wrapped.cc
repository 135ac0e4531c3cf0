#include "live/standin/torch/wrapped.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "live/standin/torch/execute.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// Bytes of a host's integers that a copy brings to a GPU, however many; the core itself moves small copies alone.
constexpr std::size_t kMostIntegerBytes = std::size_t{64} << 20;

/// Tensors as the core wants them told.
class Described {
 public:
  void add(const c10::IValue& value) {
    each_tensor(value, [this](const at::Tensor& tensor) { all_.push_back(described(tensor)); });
  }
  const FlopcastTensor* data() const { return all_.data(); }
  std::size_t size() const { return all_.size(); }

 private:
  c10::SmallVector<FlopcastTensor, 16> all_;
};

/// With names, as extensions have them, and with numbers.
void begin_by_names(const Operator& what, const c10::IValue* arguments) {
  c10::SmallVector<FlopcastArgument, 32> all;
  for (std::size_t i = 0; i < what.arguments.size(); ++i) {
    const Operator::Argument& known = what.arguments[i];
    const c10::IValue& value = arguments[i];
    const auto number = [&](double is) {
      all.push_back({known.name.c_str(), true, is, false, {}});
    };
    if (value.isBool()) {
      number(value.toBool() ? 1 : 0);
    } else if (value.isInt()) {
      number(static_cast<double>(value.toInt()));
    } else if (value.isDouble()) {
      number(value.toDouble());
    }
    each_tensor(value, [&](const at::Tensor& tensor) {
      all.push_back({known.name.c_str(), false, 0, known.written, described(tensor)});
    });
  }
  flopcast_named_operator_begin(what.name.c_str(), all.data(), all.size());
}

/// Tells the core of an operator, from its making to its end, also where it throws.
class Told {
 public:
  Told(const Operator& what, const c10::IValue* arguments) {
    if (what.by_names) {
      begin_by_names(what, arguments);
    } else {
      Described inputs;
      for (std::size_t i = 0; i < what.arguments.size(); ++i) inputs.add(arguments[i]);
      flopcast_operator_begin(what.name.c_str(), inputs.data(), inputs.size());
    }
  }
  void end(const Values& stack, std::size_t count) {
    for (std::size_t i = stack.size() - count; i < stack.size(); ++i) outputs_.add(stack[i]);
  }
  ~Told() { flopcast_operator_end(outputs_.data(), outputs_.size()); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  Described outputs_;
};

/// The plug-in makes the values of what runs meanwhile.
class Inside {
 public:
  explicit Inside(const Operator& what) { flopcast_live_operator_begin(what.name.c_str()); }
  ~Inside() { flopcast_live_operator_end(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// What the tensors of a call are like.
struct Look {
  bool any_gpu = false;
  bool integral = true;   ///< integers and booleans alone
  bool mixed = false;     ///< some are the CPU's
  std::int64_t most = 0;  ///< elements of the largest
};

bool has_sparse(const c10::IValue& value) {
  if (value.isTensor()) return is_sparse(value.toTensor());
  if (!value.isList()) return false;
  const auto items = value.toListRef();
  return std::any_of(items.begin(), items.end(), has_sparse);
}

Look look_at(Call& call) {
  Look look;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const c10::IValue& argument = call.arguments[i];
    if (has_sparse(argument)) {
      call.sparse = true;
      // How many elements such a tensor has may change.
      if (call.what.arguments[i].written) call.plain = false;
    }
    const bool counts = call.what.arguments[i].read || call.what.arguments[i].written;
    each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.layout() != c10::kStrided || !tensor.has_storage()) {
        call.plain = false;
      } else if (tensor.is_cuda()) {
        if (!look.any_gpu) call.device = tensor.device();
        look.any_gpu = true;
      } else if (tensor.is_cpu()) {
        look.mixed = true;
      } else {
        call.plain = false;
      }
      look.integral = look.integral && c10::isIntegralType(tensor.scalar_type(), true);
      if (counts) look.most = std::max(look.most, tensor.numel());
    });
    if (look.any_gpu || !argument.isDevice() || !argument.toDevice().is_cuda()) continue;
    call.device = argument.toDevice();
    if (call.device.index() < 0) call.device = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
    look.any_gpu = true;
  }
  return look;
}

/// Elements up to which the CPU computes it. Fills and what becomes integers make masks and indices, by which shapes are decided.
std::int64_t most_executed(const Call& call, const Look& look) {
  const std::string& name = call.what.name;
  const auto* const values = flopcast_live_values();
  const bool to_integers = name == "aten::copy_" &&
                           c10::isIntegralType(call.arguments[0].toTensor().scalar_type(), true);
  if (look.integral || call.what.shape_by_data || to_integers) return values->integers;
  return most_of_numbers(call.what);
}

/// Whether the CPU computes it where its inputs are valid.
bool is_small(const Call& call, const Look& look) {
  if (!call.what.executable || !call.plain || !look.any_gpu) return false;
  return look.most <= most_executed(call, look);
}

/// Copies that are no kernel: between host and device, and of alike tensors.
bool moves_bytes(const Call& call, const Look& look) {
  if (call.what.left_alone) return true;
  const std::string& name = call.what.name;
  if (name == "aten::_foreach_copy_") return look.mixed;
  if (name != "aten::copy_") return false;
  if (look.mixed) return true;
  const at::Tensor &to = call.arguments[0].toTensor(), &from = call.arguments[1].toTensor();
  return to.dtype() == from.dtype() && to.sizes() == from.sizes() &&
         to.strides() == from.strides() && to.is_non_overlapping_and_dense() &&
         to.is_conj() == from.is_conj() && to.is_neg() == from.is_neg();
}

/// Bits of a number in a floating-point type; none of other types.
std::optional<std::uint64_t> bits_in(c10::ScalarType type, double number) {
  switch (type) {
    case at::kDouble:
      return std::bit_cast<std::uint64_t>(number);
    case at::kFloat:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    case at::kHalf:
      return at::Half(static_cast<float>(number)).x;
    case at::kBFloat16:
      return at::BFloat16(static_cast<float>(number)).x;
    default:
      return std::nullopt;
  }
}

/// Until the end of its life: the call reads tainted floating-point numbers, if it is one that does. Of several, which are
/// parameters or logits, the program may compute with what it reads: zero, unless the run wants another number.
class ReadsNumbers {
 public:
  explicit ReadsNumbers(const Call& call) {
    if (only_launches()) return;
    const bool scalar = call.what.name == "aten::_local_scalar_dense";
    if (!scalar && call.what.name != "aten::copy_") return;
    const at::Tensor& from = call.arguments[scalar ? 0 : 1].toTensor();
    const at::Tensor& to = scalar ? from : call.arguments[0].toTensor();
    if (from.numel() != 1 && flopcast_live_values()->spares_programs) return;
    if (!of_gpu(from) || (!scalar && !to.is_cpu())) return;
    if (!c10::isFloatingType(to.scalar_type()) || is_valid(from)) return;
    const auto bits = bits_in(to.scalar_type(), flopcast_live_tainted_number());
    reads_ = bits.has_value();
    if (reads_)
      flopcast_live_reads_numbers(*bits, to.element_size(), static_cast<std::size_t>(from.numel()));
  }
  ~ReadsNumbers() {
    if (reads_) flopcast_live_reads_numbers(0, 0, 0);
  }
  ReadsNumbers(const ReadsNumbers&) = delete;
  ReadsNumbers& operator=(const ReadsNumbers&) = delete;

 private:
  bool reads_ = false;
};

/// Large copies of integers from the host: the core does not know what they are and leaves their bytes.
void bring_integers(const Call& call) {
  if (call.what.name != "aten::copy_" || only_launches()) return;
  const at::Tensor &to = call.arguments[0].toTensor(), &from = call.arguments[1].toTensor();
  const bool plain = to.is_cuda() && from.is_cpu() && to.dtype() == from.dtype() &&
                     to.sizes() == from.sizes() && to.is_contiguous() && from.is_contiguous();
  if (plain && c10::isIntegralType(to.scalar_type(), true) && to.nbytes() <= kMostIntegerBytes &&
      !is_valid(to)) {
    const OwnWork own_work;
    write(to, from);
  }
}

}  // namespace

void Wrapped::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                         Values* stack) {
  if (what_.makes_memory) {
    // What was valid there was another tensor's. A graph's work that reads that one may still have to run.
    what_.original->callBoxed(handle, keys, stack);
    if (!flopcast_live_capturing() && of_gpu(stack->back().toTensor()))
      taint(stack->back().toTensor());
    return;
  }
  const std::size_t below = stack->size() - what_.arguments.size(), returns = what_.same_as.size();
  Told told(what_, stack->data() + below);
  if (what_.extension) {
    what_.original->callBoxed(handle, keys, stack);
    return told.end(*stack, returns);
  }
  const Inside inside(what_);
  Call call{what_, handle, keys,
            Values(stack->begin() + static_cast<std::ptrdiff_t>(below), stack->end())};
  const Look look = look_at(call);
  const auto original = [&] { what_.original->callBoxed(handle, keys, stack); };
  if ((only_launches() && !what_.shape_by_data) || moves_bytes(call, look)) {
    const ReadsNumbers reads(call);
    original();
    bring_integers(call);
  } else if (is_small(call, look) && (flopcast_live_capturing() || is_computable(call))) {
    execute(call, *stack);
  } else {
    assume(call, *stack);
  }
  told.end(*stack, returns);
}

}  // namespace flopcast::plugin
