#include "live/engine/pricing/operator_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "live/engine/pricing/product_kernels.h"

namespace flopcast::live {
namespace {

/// How an operator's bytes are counted.
enum class Counting : std::uint8_t {
  kMoves,       ///< reads its inputs, writes its outputs
  kPointwise,   ///< the same, element by element
  kWrites,      ///< reads nothing
  kCopies,      ///< reads all but what it overwrites
  kRows,        ///< the same as kMoves, row by row: a block of threads a row
  kStatistics,  ///< reads its inputs twice
  kGathers,     ///< reads as much of its first input as it writes, and its other inputs
  kScatters,    ///< reads all but its first input, and reads and writes as much of that
  kPicks,       ///< an element a row
  kSpreads,  ///< the gradient of that: an element a row is written, the others were cleared before
  kSums,     ///< rows that add up to few of what it writes, which was cleared before
  kSplits,   ///< its first tensor, into the others
  kUnpools,  ///< gradients of windows, and where in them the largest was: what it was of is not read
  kUpdates,  ///< an optimiser: parameters, gradients and moments, all but gradients written
  kSorts,    ///< a pass for every byte of a key
  kSelects,  ///< the same without writing
  kAttends,
  kConvolves,
  kGroups,  ///< a product for every expert
};

struct OperatorRule {
  std::string_view name;  ///< the behind-most "_" of an operator in place left out
  Counting counting;
  MemoryOp op = MemoryOp::kElementWise;
  bool backward = false;
};

using enum Counting;

constexpr std::array kOperatorRules = std::to_array<OperatorRule>({
    {"native_layer_norm", kRows, MemoryOp::kLayerNorm},
    {"native_layer_norm_backward", kRows, MemoryOp::kLayerNorm, true},
    // The same kernel as layer_norm's, without the mean.
    {"_fused_rms_norm", kRows, MemoryOp::kLayerNorm},
    {"_fused_rms_norm_backward", kRows, MemoryOp::kLayerNorm, true},
    {"native_group_norm", kStatistics},
    {"native_group_norm_backward", kStatistics},
    {"native_batch_norm", kStatistics},
    {"_native_batch_norm_legit", kStatistics},
    {"_batch_norm_with_update", kStatistics},
    {"native_batch_norm_backward", kStatistics},
    {"batch_norm_backward", kStatistics},
    {"cudnn_batch_norm", kStatistics},
    {"cudnn_batch_norm_backward", kStatistics},
    {"_softmax", kRows, MemoryOp::kSoftmax},
    {"_log_softmax", kRows, MemoryOp::kSoftmax},
    {"_softmax_backward_data", kRows, MemoryOp::kSoftmax, true},
    {"_log_softmax_backward_data", kRows, MemoryOp::kSoftmax, true},
    {"embedding", kGathers, MemoryOp::kEmbedding},
    {"index_select", kGathers, MemoryOp::kEmbedding},
    {"index", kGathers, MemoryOp::kEmbedding},
    {"gather", kGathers, MemoryOp::kEmbedding},
    {"take", kGathers, MemoryOp::kEmbedding},
    {"embedding_dense_backward", kSums, MemoryOp::kEmbedding},
    {"index_add", kScatters, MemoryOp::kEmbedding},
    {"index_put", kScatters, MemoryOp::kEmbedding},
    {"_index_put_impl", kScatters, MemoryOp::kEmbedding},
    {"index_copy", kScatters, MemoryOp::kEmbedding},
    {"scatter", kScatters, MemoryOp::kEmbedding},
    {"scatter_add", kScatters, MemoryOp::kEmbedding},
    {"scatter_reduce", kScatters, MemoryOp::kEmbedding},
    {"nll_loss_forward", kPicks},
    {"nll_loss2d_forward", kPicks},
    {"nll_loss_backward", kSpreads},
    {"nll_loss2d_backward", kSpreads},
    {"copy", kCopies, MemoryOp::kCopy},
    {"_foreach_copy", kCopies, MemoryOp::kCopy},
    {"clone", kCopies, MemoryOp::kCopy},
    {"cat", kCopies, MemoryOp::kCopy},
    {"split_with_sizes_copy", kSplits, MemoryOp::kCopy},
    {"max_pool2d_with_indices", kMoves},
    {"max_pool2d_with_indices_backward", kUnpools},
    {"_chunk_cat", kCopies, MemoryOp::kCopy},
    {"flip", kCopies, MemoryOp::kCopy},
    {"roll", kCopies, MemoryOp::kCopy},
    {"repeat", kCopies, MemoryOp::kCopy},
    {"constant_pad_nd", kCopies, MemoryOp::kCopy},
    {"fill", kWrites, MemoryOp::kCopy},
    {"zero", kWrites, MemoryOp::kCopy},
    {"_foreach_zero", kWrites, MemoryOp::kCopy},
    {"arange", kWrites, MemoryOp::kCopy},
    {"linspace", kWrites, MemoryOp::kCopy},
    {"eye", kWrites, MemoryOp::kCopy},
    {"tril_indices", kWrites, MemoryOp::kCopy},
    {"triu_indices", kWrites, MemoryOp::kCopy},
    {"normal", kWrites, MemoryOp::kCopy},
    {"uniform", kWrites, MemoryOp::kCopy},
    {"random", kWrites, MemoryOp::kCopy},
    {"exponential", kWrites, MemoryOp::kCopy},
    {"log_normal", kWrites, MemoryOp::kCopy},
    {"cauchy", kWrites, MemoryOp::kCopy},
    {"geometric", kWrites, MemoryOp::kCopy},
    {"randperm", kWrites, MemoryOp::kCopy},
    {"_fused_adam", kUpdates, MemoryOp::kOptimizer},
    {"_fused_adamw", kUpdates, MemoryOp::kOptimizer},
    {"_fused_sgd", kUpdates, MemoryOp::kOptimizer},
    {"_fused_adagrad", kUpdates, MemoryOp::kOptimizer},
    {"sort", kSorts},
    {"argsort", kSorts},
    {"_unique2", kSorts},
    {"unique_dim", kSorts},
    {"unique_consecutive", kSorts},
    {"topk", kSelects},
    {"kthvalue", kSelects},
    {"median", kSelects},
    {"_flash_attention_forward", kAttends},
    {"_flash_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"_efficient_attention_forward", kAttends},
    {"_efficient_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"_cudnn_attention_forward", kAttends},
    {"_cudnn_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"_scaled_dot_product_flash_attention", kAttends},
    {"_scaled_dot_product_flash_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"_scaled_dot_product_efficient_attention", kAttends},
    {"_scaled_dot_product_efficient_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"_scaled_dot_product_cudnn_attention", kAttends},
    {"_scaled_dot_product_cudnn_attention_backward", kAttends, MemoryOp::kElementWise, true},
    {"cudnn_convolution", kConvolves},
    {"convolution", kConvolves},
    {"_convolution", kConvolves},
    {"slow_conv_dilated2d", kConvolves},
    {"_slow_conv2d_forward", kConvolves},
    {"_conv_depthwise2d", kConvolves},
    {"conv_depthwise3d", kConvolves},
    {"cudnn_convolution_relu", kConvolves},
    {"convolution_backward", kConvolves, MemoryOp::kElementWise, true},
    {"_slow_conv2d_backward", kConvolves, MemoryOp::kElementWise, true},
    {"_grouped_mm", kGroups},
    {"_scaled_grouped_mm", kGroups},
});

/// Read their inputs once and write what is left of them.
constexpr auto kReductions = std::to_array<std::string_view>({"sum",
                                                              "mean",
                                                              "amax",
                                                              "amin",
                                                              "max",
                                                              "min",
                                                              "argmax",
                                                              "argmin",
                                                              "any",
                                                              "all",
                                                              "prod",
                                                              "var",
                                                              "var_mean",
                                                              "std",
                                                              "norm",
                                                              "linalg_vector_norm",
                                                              "avg_pool2d",
                                                              "avg_pool2d_backward",
                                                              "_adaptive_avg_pool2d",
                                                              "_adaptive_avg_pool2d_backward",
                                                              "upsample_nearest2d",
                                                              "upsample_nearest2d_backward",
                                                              "upsample_bilinear2d",
                                                              "upsample_bilinear2d_backward"});

/// Element by element, by the kernel that was measured as an activation or an addition.
constexpr auto kPointwiseOperators = std::to_array<std::string_view>({"abs",
                                                                      "add",
                                                                      "addcdiv",
                                                                      "addcmul",
                                                                      "bitwise_and",
                                                                      "bitwise_not",
                                                                      "bitwise_or",
                                                                      "ceil",
                                                                      "clamp",
                                                                      "clamp_max",
                                                                      "clamp_min",
                                                                      "cos",
                                                                      "div",
                                                                      "elu",
                                                                      "elu_backward",
                                                                      "eq",
                                                                      "erf",
                                                                      "exp",
                                                                      "expm1",
                                                                      "floor",
                                                                      "fmod",
                                                                      "ge",
                                                                      "gelu",
                                                                      "gelu_backward",
                                                                      "glu",
                                                                      "glu_backward",
                                                                      "gt",
                                                                      "hardswish",
                                                                      "hardsigmoid",
                                                                      "isfinite",
                                                                      "isinf",
                                                                      "isnan",
                                                                      "le",
                                                                      "leaky_relu",
                                                                      "leaky_relu_backward",
                                                                      "lerp",
                                                                      "log",
                                                                      "log1p",
                                                                      "log2",
                                                                      "logical_and",
                                                                      "logical_not",
                                                                      "logical_or",
                                                                      "lt",
                                                                      "masked_fill",
                                                                      "maximum",
                                                                      "minimum",
                                                                      "mish",
                                                                      "mul",
                                                                      "native_dropout",
                                                                      "native_dropout_backward",
                                                                      "ne",
                                                                      "neg",
                                                                      "polar",
                                                                      "pow",
                                                                      "reciprocal",
                                                                      "relu",
                                                                      "remainder",
                                                                      "round",
                                                                      "rsqrt",
                                                                      "rsub",
                                                                      "sigmoid",
                                                                      "sigmoid_backward",
                                                                      "sign",
                                                                      "silu",
                                                                      "silu_backward",
                                                                      "sin",
                                                                      "softplus",
                                                                      "softplus_backward",
                                                                      "sqrt",
                                                                      "square",
                                                                      "sub",
                                                                      "tanh",
                                                                      "tanh_backward",
                                                                      "threshold",
                                                                      "threshold_backward",
                                                                      "tril",
                                                                      "triu",
                                                                      "trunc",
                                                                      "where",
                                                                      "xlogy",
                                                                      "mse_loss",
                                                                      "mse_loss_backward",
                                                                      "smooth_l1_loss",
                                                                      "smooth_l1_loss_backward",
                                                                      "huber_loss",
                                                                      "bernoulli",
                                                                      "sgn",
                                                                      "logit"});

bool in(const auto& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// None for an operator that is in no table.
std::optional<OperatorRule> rule_of(std::string_view name) {
  const bool in_place = name.ends_with('_');
  if (in_place) name.remove_suffix(1);
  const auto rule = std::find_if(kOperatorRules.begin(), kOperatorRules.end(),
                                 [name](const OperatorRule& one) { return one.name == name; });
  if (rule != kOperatorRules.end()) return *rule;
  constexpr std::string_view kForEach = "_foreach_";
  const std::string_view of_each = name.starts_with(kForEach) ? name.substr(kForEach.size()) : name;
  if (in(kPointwiseOperators, of_each)) return OperatorRule{name, kPointwise};
  if (in(kReductions, of_each)) return OperatorRule{name, kMoves};
  return std::nullopt;
}

/// How many lists an operator on lists has, the first of which it changes where it works in place.
double lists_of(const OperatorCall& call) {
  const bool weights = call.name == "_foreach_lerp_" && call.overload == "List";
  if (call.name.starts_with("_foreach_addc") || weights) return 3;
  const bool two =
      call.overload == "List" || call.name == "_foreach_lerp_" || call.name == "_foreach_copy_";
  return two ? 2 : 1;
}

double bytes_of(const std::vector<OperatorTensor>& tensors, std::size_t first, std::size_t end) {
  double bytes = 0;
  for (std::size_t i = first; i < end; ++i) bytes += tensors[i].bytes();
  return bytes;
}

/// Of the first of several lists. Lists that were too long to be told one by one are told as one tensor a type.
double first_list_bytes(const OperatorCall& call) {
  const double lists = lists_of(call);
  const auto tensors = call.inputs.size(), count = static_cast<std::size_t>(lists);
  if (tensors % count == 0) return bytes_of(call.inputs, 0, tensors / count);
  return call.read_bytes() / lists;
}

/// Of an operator that does not say what it wrote: one on lists in place writes the first of several lists, an
/// optimiser all but the gradients, and any other what it was given.
double written_bytes(const OperatorCall& call, Counting counting) {
  if (!call.outputs.empty() || call.inputs.empty()) return call.written_bytes();
  const double read = call.read_bytes();
  if (counting == kUpdates) return call.name == "_fused_sgd_" ? read * 2 / 3 : read * 3 / 4;
  if (counting == kSplits) return call.inputs[0].bytes();
  if (call.name.starts_with("_foreach_")) return first_list_bytes(call);
  if (call.name.ends_with('_')) return call.inputs[0].bytes();
  double largest = 0;
  for (const OperatorTensor& input : call.inputs) largest = std::max(largest, input.bytes());
  return largest;
}

/// Of the inputs that the call overwrites without looking. Only an operator in place looks.
double overwritten_bytes(const OperatorCall& call, Counting counting) {
  const bool out = call.overload == "out" || call.overload.ends_with("_out");
  if (counting != kCopies && !out) return 0;
  if (call.name == "_foreach_copy_" && call.outputs.empty() && !call.inputs.empty())
    return first_list_bytes(call);
  double bytes = 0;
  for (const std::size_t input : call.changed) bytes += call.inputs[input].bytes();
  return bytes;
}

struct Moved {
  double read = 0, written = 0;
};

double rest_of_inputs(const OperatorCall& call) {
  return call.inputs.empty() ? 0 : call.read_bytes() - call.inputs[0].bytes();
}

/// Elements of a row of the first.
double rows_length(const std::vector<OperatorTensor>& tensors) {
  return tensors.empty() ? 1 : std::max(1.0, static_cast<double>(tensors[0].last()));
}

/// Of the inputs but the largest.
double rest_of_rows(const OperatorCall& call) {
  double largest = 0;
  for (const OperatorTensor& input : call.inputs) largest = std::max(largest, input.bytes());
  return call.read_bytes() - largest;
}

/// What a row that does not fit a block's shared memory costs: it is read for its maximum, its sum and its result.
double row_passes(const OperatorCall& call, const OperatorRule& rule) {
  constexpr double kFits = 200e3;
  if (rule.op != MemoryOp::kSoftmax || rule.backward || call.inputs.empty()) return 1;
  const OperatorTensor& first = call.inputs[0];
  return static_cast<double>(first.last()) * first.element_bytes > kFits ? 3 : 1;
}

Moved moved_by(const OperatorCall& call, const OperatorRule& rule) {
  const double written = written_bytes(call, rule.counting);
  const double read = call.read_bytes() - overwritten_bytes(call, rule.counting);
  const double key = call.inputs.empty() ? 0 : call.inputs[0].element_bytes;
  const double keys = call.inputs.empty() ? 0 : call.inputs[0].bytes();
  switch (rule.counting) {
    case kWrites:
      return {0, written};
    case kStatistics:
      return {2 * read, written};
    case kRows:
      return {row_passes(call, rule) * read, written};
    case kGathers:
      return {std::min(written + rest_of_inputs(call), read), written};
    case kScatters:
      return {2 * rest_of_inputs(call), rest_of_inputs(call)};
    case kPicks:
      return {read - keys + keys / rows_length(call.inputs), written};
    case kSpreads:
      return {rest_of_rows(call), written / rows_length(call.outputs)};
    case kSums:
      return {read, std::min(written, keys)};
    case kSplits:
      return {keys, keys};
    case kUnpools:
      return {read - (call.inputs.size() > 1 ? call.inputs[1].bytes() : 0), written};
    case kSorts:
      return {key * (keys + 8 * keys / std::max(1.0, key)), key * written};
    case kSelects:
      return {(key + 1) * keys, written};
    default:
      return {read, written};
  }
}

/// Elements of the operator as it was measured, which moves as many bytes.
Kernel moving(MemoryOp op, Moved bytes, double share) {
  MemoryBound kernel;
  kernel.op = op;
  kernel.read = Bytes{bytes.read * share};
  kernel.written = Bytes{bytes.written * share};
  MemoryBound one;
  one.op = op;
  one.rows = one.columns = 1;
  const double of_element = kernel_bytes(one).value;
  kernel.rows = 1;
  constexpr double kMost = 1e18;  // more than any tensor has, and an integer still
  const double elements = (bytes.read + bytes.written) * share / of_element;
  kernel.columns = static_cast<std::int64_t>(std::clamp(elements, 1.0, kMost));
  return kernel;
}

MemoryOp measured_as(const OperatorCall& call, const OperatorRule& rule) {
  if (rule.counting != kPointwise) return rule.op;
  if (call.name.starts_with("_foreach_"))
    return lists_of(call) > 1 ? MemoryOp::kAdd : MemoryOp::kActivation;
  // A second operand is told from a scalar by its size.
  const auto large = std::count_if(call.inputs.begin(), call.inputs.end(),
                                   [](const OperatorTensor& input) { return input.elements > 1; });
  return large > 1 ? MemoryOp::kAdd : MemoryOp::kActivation;
}

Kernel by_rows(const OperatorCall& call, const OperatorRule& rule) {
  const Moved bytes = moved_by(call, rule);
  if (call.inputs.empty() || call.inputs[0].sizes.empty())
    return moving(MemoryOp::kElementWise, bytes, call.share);
  // The gradient of the output comes first, or the input: they are alike.
  const OperatorTensor& first = call.inputs[0];
  MemoryBound kernel;
  kernel.op = rule.op;
  kernel.backward = rule.backward;
  kernel.type = first.type.value_or(DataType::kFp32);
  kernel.columns = std::max<std::int64_t>(1, first.last());
  kernel.rows = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(first.elements / static_cast<double>(kernel.columns)));
  kernel.read = Bytes{bytes.read * call.share};
  kernel.written = Bytes{bytes.written * call.share};
  return kernel;
}

/// Of the largest tensor that it writes, or that it was given if it does not say.
double written_elements(const OperatorCall& call) {
  double most = 0;
  for (const OperatorTensor& tensor : call.outputs.empty() ? call.inputs : call.outputs)
    most = std::max(most, tensor.elements);
  return most;
}

}  // namespace

OperatorWork work_of(const OperatorCall& call, bool beside) {
  const double elements = call.share * written_elements(call);
  const auto known = rule_of(call.name);
  const OperatorRule rule = known.value_or(OperatorRule{call.name, kMoves});
  if (beside) {
    const double result = written_bytes(call, rule.counting);
    return {moving(MemoryOp::kCopy, {result, result}, call.share), elements};
  }
  std::optional<Kernel> product;
  if (rule.counting == kAttends) product = attention_kernel(call, rule.backward);
  if (rule.counting == kConvolves) product = convolution_kernel(call, rule.backward);
  if (rule.counting == kGroups) product = grouped_kernel(call);
  if (product) return {*product, elements};
  if (rule.counting == kRows) return {by_rows(call, rule), elements};
  return {moving(measured_as(call, rule), moved_by(call, rule), call.share), elements, !known};
}

}  // namespace flopcast::live
