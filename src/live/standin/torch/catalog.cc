#include "live/standin/torch/catalog.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "live/standin/torch/emulations.h"
#include "live/standin/torch/placed.h"
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

/// They make, change or describe sparse tensors, whose parts are others' tensors.
const Names kMakesSparse = {"aten::_sparse_coo_tensor_with_dims",
                            "aten::_sparse_coo_tensor_with_dims_and_tensors",
                            "aten::_coalesced_",
                            "aten::copy_",
                            "aten::copy_sparse_to_sparse_",
                            "aten::sparse_resize_",
                            "aten::sparse_resize_and_clear_",
                            "aten::is_coalesced",
                            "aten::_nnz",
                            "aten::_dimI",
                            "aten::_dimV",
                            "aten::sparse_dim",
                            "aten::dense_dim"};

/// They move bytes by calls that the core sees, in their own time.
const Names kMoves = {"aten::_local_scalar_dense", "aten::_cudnn_rnn_flatten_weight"};

/// Arguments that are notes of the kernel's own: nothing that comes out hangs on them. And the first such return.
struct Notes {
  std::set<std::size_t> arguments;
  std::size_t returned = SIZE_MAX;
};
const std::map<std::string_view, Notes> kNotes = {
    {"aten::_cudnn_rnn", {{3, 15}, 3}},
    {"aten::_cudnn_rnn_backward", {{3, 6, 19, 20}}},
};

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
/// The first step of these makes momentum, which is whatever memory was before. Its argument, and the one that says so.
const std::map<std::string_view, std::pair<std::size_t, int>> kMakesMomentum = {
    {"aten::_fused_sgd_", {2, 9}}, {"aten::_fused_sgd_.tensor_lr", {2, 9}}};

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

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 9
// A handle does not give its operator away: an explicit instantiation may name what is private.
template <auto kMember>
struct Reach {
  friend auto entry_of(const c10::OperatorHandle& handle) { return handle.*kMember; }
};
auto entry_of(const c10::OperatorHandle& handle);
template struct Reach<&c10::OperatorHandle::operatorDef_>;

Kernel kernel_of(const c10::OperatorHandle& handle, c10::DispatchKey key) {
  return entry_of(handle)->op.lookup(c10::DispatchKeySet(key));
}
#else
Kernel kernel_of(const c10::OperatorHandle& handle, c10::DispatchKey key) {
  return handle.getComputedKernelForDispatchKey(key);
}
#endif

bool has_kernel(const c10::OperatorHandle& handle, const Operator& what, c10::DispatchKey key) {
  const bool strided = key == c10::DispatchKey::CUDA;
  if (!strided && kMakesSparse.count(what.name) > 0) return false;
  // Python's custom_op() for any device.
  const bool for_any =
      what.extension && handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  return handle.hasKernelForDispatchKey(key) || for_any ||
         (strided && kComposed.count(what.name) > 0);
}

c10::DispatchKey key_of_cpu(c10::DispatchKey key) {
  if (key == c10::DispatchKey::SparseCUDA) return c10::DispatchKey::SparseCPU;
  if (key == c10::DispatchKey::SparseCsrCUDA) return c10::DispatchKey::SparseCsrCPU;
  return c10::DispatchKey::CPU;
}

bool cpu_has_kernel(const c10::OperatorHandle& handle, c10::DispatchKey key) {
  return handle.hasKernelForDispatchKey(key) ||
         handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

void describe_arguments(const c10::FunctionSchema& schema, Operator& what) {
  const auto notes = kNotes.find(what.name);
  if (notes != kNotes.end()) what.scratch = notes->second.returned;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool only_out = argument.kwarg_only() || (i == 0 && kFill.count(what.name) > 0);
    const bool statistics = kWriteStatistics.count(what.name) > 0 && (i == 3 || i == 4);
    Operator::Argument known;
    if (what.by_names) known.name = argument.name();
    const bool keeps = kFindNothing.count(what.name) > 0 && i == 1;
    known.written = (writes(argument) && !keeps) || statistics;
    known.read = statistics || !(writes(argument) && only_out);
    if (notes != kNotes.end() && notes->second.arguments.count(i) > 0) known.read = false;
    // beta * self + ...
    if (i == 0) known.unread_if = schema.argumentIndexWithName("beta").value_or(-1);
    if (const auto made = kMakesMomentum.find(what.name);
        made != kMakesMomentum.end() && made->second.first == i)
      known.unread_if = made->second.second;
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

std::optional<Operator> describe(const c10::OperatorHandle& handle, c10::DispatchKey key) {
  Operator what;
  what.name = toString(handle.operator_name());
  what.extension = !what.name.starts_with("aten::");
  if (what.name.starts_with(kCommunication) || !has_kernel(handle, what, key)) return std::nullopt;
  const c10::FunctionSchema& schema = handle.schema();
  what.by_names = what.extension ||
                  std::any_of(schema.arguments().begin(), schema.arguments().end(),
                              [](const c10::Argument& a) { return kLengths.count(a.name()) > 0; });
  if (!what.extension && (kNoValues.count(what.name) > 0 || is_view(schema))) return std::nullopt;
  what.original = kernel_of(handle, key);
  what.on_cpu = key_of_cpu(key);
  what.left_alone = kMoves.count(what.name) > 0;
  what.makes_memory = what.name.starts_with("aten::empty");
  what.emulation = emulation_of(what.name);
  what.policy = policy_of(what.name);
  what.placed = placed_argument(what.name);
  what.shape_by_data = shape_by_data(what.name);
  what.executable = what.emulation || cpu_has_kernel(handle, what.on_cpu);
  describe_arguments(schema, what);
  describe_returns(schema, what);
  what.random = what.generator >= 0 || handle.hasTag(at::Tag::nondeterministic_seeded);
  return what;
}

}  // namespace flopcast::plugin
