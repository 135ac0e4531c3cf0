#include "live/standin/torch/catalog.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "live/standin/torch/emulations.h"
#include "live/standin/torch/policies.h"

namespace flopcast::plugin {
namespace {

using Names = std::set<std::string_view>;

/// They make tensors, or say what something is like; none has values.
const Names kNoValues = {"aten::as_strided",
                         "aten::view",
                         "aten::_reshape_alias",
                         "aten::set_.source_Storage",
                         "aten::set_.source_Storage_storage_offset",
                         "aten::set_.source_Tensor",
                         "aten::set_",
                         "aten::unfold",
                         "aten::record_stream",
                         "aten::is_pinned",
                         "aten::_pin_memory",
                         "aten::is_set_to",
                         "aten::_fused_sdp_choice",
                         "aten::_efficientzerotensor",
                         "aten::resize_as_",
                         "aten::resize_",
                         "aten::_cudnn_init_dropout_state",
                         "aten::_use_cudnn_ctc_loss",
                         "aten::_use_cudnn_ctc_loss.Tensor"};

/// They move bytes by calls that the core sees, in their own time.
const Names kMoves = {"aten::_local_scalar_dense"};

/// They have no kernel for GPUs of their own, but what they do there the CPU does otherwise.
const Names kComposed = {"aten::copy_", "aten::convolution", "aten::convolution_backward",
                         "aten::isinf"};

/// Their first argument is written whatever it holds.
const Names kFill = {"aten::zero_",          "aten::fill_.Scalar",     "aten::fill_.Tensor",
                     "aten::copy_",          "aten::normal_",          "aten::uniform_",
                     "aten::random_",        "aten::random_.to",       "aten::random_.from",
                     "aten::exponential_",   "aten::log_normal_",      "aten::cauchy_",
                     "aten::geometric_",     "aten::bernoulli_.float", "aten::bernoulli_.Tensor",
                     "aten::_foreach_zero_", "aten::_foreach_copy_"};

/// They write running statistics and do not say so.
const Names kWriteStatistics = {"aten::native_batch_norm", "aten::cudnn_batch_norm"};

/// Of tainted gradients none is infinite: what was found (second argument) stays as it was.
const Names kFindNothing = {"aten::_amp_foreach_non_finite_check_and_unscale_"};

/// Sequences that lie behind each other in one tensor: how long each is, values say.
const Names kLengths = {"cum_seq_q", "cu_seqlens_q"};

/// They launch nothing themselves: the core sees NCCL's calls.
constexpr std::string_view kCommunication = "c10d::";

bool writes(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const c10::Argument& each : schema.returns()) {
    if (each.alias_info() && !each.alias_info()->isWrite()) return true;
  }
  return false;
}

bool is_generator(const c10::Argument& argument) {
  return argument.type()->str().find("Generator") != std::string::npos;
}

bool has_kernel(const c10::OperatorHandle& handle, const Operator& what) {
  const bool for_gpu = handle.hasKernelForDispatchKey(c10::DispatchKey::CUDA);
  // Python's custom_op() for any device.
  const bool for_any =
      what.extension && handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  return for_gpu || for_any || kComposed.count(what.name) > 0;
}

bool cpu_has_kernel(const c10::OperatorHandle& handle) {
  return handle.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
         handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

void describe_arguments(const c10::FunctionSchema& schema, Operator& what) {
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool only_out = argument.kwarg_only() || (i == 0 && kFill.count(what.name) > 0);
    const bool statistics = kWriteStatistics.count(what.name) > 0 && (i == 3 || i == 4);
    Operator::Argument known;
    if (what.by_names) known.name = argument.name();
    const bool keeps = kFindNothing.count(what.name) > 0 && i == 1;
    known.written = (writes(argument) && !keeps) || statistics;
    known.read = statistics || !(writes(argument) && only_out);
    what.arguments.push_back(known);
    if (is_generator(argument)) what.generator = static_cast<int>(i);
  }
}

/// Returns that are arguments come in the arguments' order.
void describe_returns(const c10::FunctionSchema& schema, Operator& what) {
  std::size_t argument = 0;
  for (const c10::Argument& each : schema.returns()) {
    what.same_as.push_back(-1);
    if (!writes(each)) continue;
    while (argument < schema.arguments().size() && !writes(schema.arguments()[argument]))
      ++argument;
    what.same_as.back() = static_cast<int>(argument++);
  }
}

}  // namespace

std::optional<Operator> describe(const c10::OperatorHandle& handle) {
  Operator what;
  what.name = toString(handle.operator_name());
  what.extension = !what.name.starts_with("aten::");
  if (what.name.starts_with(kCommunication) || !has_kernel(handle, what)) return std::nullopt;
  const c10::FunctionSchema& schema = handle.schema();
  what.by_names = what.extension ||
                  std::any_of(schema.arguments().begin(), schema.arguments().end(),
                              [](const c10::Argument& a) { return kLengths.count(a.name()) > 0; });
  if (!what.extension && (kNoValues.count(what.name) > 0 || is_view(schema))) return std::nullopt;
  what.original = handle.getComputedKernelForDispatchKey(c10::DispatchKey::CUDA);
  what.left_alone = kMoves.count(what.name) > 0;
  what.makes_memory = what.name.starts_with("aten::empty");
  what.emulation = emulation_of(what.name);
  what.policy = policy_of(what.name);
  what.shape_by_data = shape_by_data(what.name);
  what.executable = what.emulation || cpu_has_kernel(handle);
  describe_arguments(schema, what);
  describe_returns(schema, what);
  what.random = what.generator >= 0 || handle.hasTag(at::Tag::nondeterministic_seeded);
  return what;
}

}  // namespace flopcast::plugin
