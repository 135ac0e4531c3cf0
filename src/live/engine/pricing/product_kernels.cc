#include "live/engine/pricing/product_kernels.h"

#include <algorithm>

namespace flopcast::live {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Queries, keys and values; the gradient of the output comes before them.
struct Operands {
  const OperatorTensor &query, &key;
};
std::optional<Operands> operands_of(const OperatorCall& call, bool backward) {
  const std::size_t first = backward ? 1 : 0;
  if (call.inputs.size() < first + 3) return std::nullopt;
  const OperatorTensor &query = call.inputs[first], &key = call.inputs[first + 1];
  if (query.sizes.size() != key.sizes.size()) return std::nullopt;
  if (query.sizes.size() != 4 && query.sizes.size() != 3) return std::nullopt;
  return Operands{query, key};
}

DataType type_of(const OperatorTensor& tensor) { return tensor.type.value_or(DataType::kBf16); }

GemmType gemm_type_of(const OperatorTensor& tensor) {
  switch (type_of(tensor)) {
    case DataType::kFp16:
      return GemmType::kFp16;
    case DataType::kFp8:
      return GemmType::kFp8;
    case DataType::kBf16:
      return GemmType::kBf16;
    default:
      return GemmType::kFp32;
  }
}

std::int64_t product(const std::vector<std::int64_t>& sizes, std::size_t from) {
  std::int64_t all = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) all *= std::max<std::int64_t>(1, sizes[i]);
  return all;
}

/// The output's places, its channels, and what each is the sum over.
std::optional<Gemm> convolution(const OperatorTensor& input, const OperatorTensor& weight,
                                const OperatorTensor& output) {
  if (weight.sizes.size() < 3 || input.sizes.size() != weight.sizes.size() ||
      output.sizes.size() != weight.sizes.size() || weight.sizes[1] < 1)
    return std::nullopt;
  Gemm gemm;
  gemm.batch = std::max<std::int64_t>(1, input.sizes[1] / weight.sizes[1]);  // groups
  gemm.m = output.sizes[0] * product(output.sizes, 2);
  gemm.n = std::max<std::int64_t>(1, weight.sizes[0] / gemm.batch);
  gemm.k = product(weight.sizes, 1);
  gemm.type = gemm_type_of(input);
  return gemm;
}

/// The kernel's part of the rows.
std::optional<Kernel> shared(std::optional<Gemm> gemm, double share) {
  if (!gemm) return std::nullopt;
  const double rows = static_cast<double>(gemm->m) * share;
  gemm->m = std::max<std::int64_t>(1, static_cast<std::int64_t>(rows + 0.5));
  return *gemm;
}

}  // namespace

bool does_attention(std::string_view kernel) {
  if (has(kernel, "combine") || has(kernel, "Combine") || has(kernel, "dot_do_o") ||
      has(kernel, "convert_dq") || has(kernel, "Preprocess") || has(kernel, "Postprocess"))
    return false;
  for (const std::string_view part :
       {"flash_fwd", "flash_bwd", "fmha", "FlashAttnFwd", "FlashAttnBwd", "attention", "sdpa"}) {
    if (has(kernel, part)) return true;
  }
  return false;
}

std::optional<bool> causal_by_name(std::string_view kernel) {
  // flash_fwd_kernel<Traits, Is_dropout, Is_causal, ...>: the last group of booleans in the mangled name.
  constexpr std::size_t kBoolean = 4;  // Lb0E
  const auto is_boolean = [kernel](std::size_t at) {
    const std::string_view text = kernel.substr(std::min(at, kernel.size()), kBoolean);
    return text == "Lb0E" || text == "Lb1E";
  };
  std::size_t at = kernel.rfind("Lb");
  if (at == std::string_view::npos || !is_boolean(at)) return std::nullopt;
  while (at >= kBoolean && is_boolean(at - kBoolean)) at -= kBoolean;
  if (!is_boolean(at + kBoolean)) return std::nullopt;
  return kernel[at + kBoolean + 2] == '1';
}

std::optional<Kernel> attention_kernel(const OperatorCall& call, bool backward) {
  const auto operands = operands_of(call, backward);
  if (!operands || !does_attention(call.kernel)) return std::nullopt;
  // [sequences, tokens, heads, size] where the kernels are, [sequences, heads, tokens, size] in the operators of
  // scaled_dot_product_attention, [tokens, heads, size] where sequences are packed.
  const auto &query = operands->query.sizes, &key = operands->key.sizes;
  const bool packed = query.size() == 3;
  const bool heads_first = call.name.starts_with("_scaled_dot_product");
  const std::size_t tokens = packed ? 0 : heads_first ? 2 : 1;
  const std::size_t heads = packed ? 1 : heads_first ? 1 : 2;
  Attention attention;
  attention.batch = packed ? 1 : query[0];
  attention.query_length = query[tokens];
  attention.kv_length = key[tokens];
  attention.heads = query[heads];
  attention.kv_heads = key[heads];
  attention.head_dim = query.back();
  attention.type = attention.kv_cache = type_of(operands->query);
  attention.backward = backward;
  attention.causal = has(call.kernel, "flash_") ? causal_by_name(call.kernel).value_or(true)
                                                : attention.query_length == attention.kv_length;
  return attention;
}

std::optional<Kernel> convolution_kernel(const OperatorCall& call, bool backward) {
  if (!backward) {
    if (call.inputs.size() < 2 || call.outputs.empty()) return std::nullopt;
    return shared(convolution(call.inputs[0], call.inputs[1], call.outputs[0]), call.share);
  }
  // The gradients of input and weight each take what the output took.
  if (call.inputs.size() < 3) return std::nullopt;
  return shared(convolution(call.inputs[1], call.inputs[2], call.inputs[0]), 2 * call.share);
}

/// Rows by a matrix, however that is packed: the result says how many columns it has.
std::optional<Kernel> plain_kernel(const OperatorCall& call) {
  const auto& rows = call.inputs[0].sizes;
  // Where the result is not known yet, the matrix is taken as it is.
  const auto& columns = call.outputs.empty() ? call.inputs[1].sizes : call.outputs[0].sizes;
  if (rows.size() != 2 || columns.size() != 2) return std::nullopt;
  Gemm gemm;
  gemm.type = gemm_type_of(call.inputs[0]);
  const OperatorTensor& weight = call.inputs[1];
  if (call.inputs[0].element_bytes == 2 && !weight.type)
    gemm.type = weight.element_bytes == 1 ? GemmType::kInt8WeightOnly : GemmType::kInt4WeightOnly;
  gemm.m = rows[0];
  gemm.k = rows[1];
  gemm.n = columns[1];
  return shared(gemm, call.share);
}

std::optional<Kernel> grouped_kernel(const OperatorCall& call) {
  if (call.inputs.size() < 2) return std::nullopt;
  const auto &left = call.inputs[0].sizes, &right = call.inputs[1].sizes;
  const std::size_t dims = call.outputs.empty() ? left.size() : call.outputs[0].sizes.size();
  if (dims == 2 && left.size() == 2 && right.size() != 3) return plain_kernel(call);
  if (left.size() < 2 || left.size() > 3 || right.size() < 2 || right.size() > 3)
    return std::nullopt;
  Gemm gemm;
  gemm.type = gemm_type_of(call.inputs[0]);
  gemm.k = left.back();
  gemm.n = right.back();
  gemm.m = left[left.size() - 2];
  if (left.size() == 3 || right.size() == 3) {
    // Rows are dealt out to the experts, each with its own matrix.
    gemm.batch = std::max<std::int64_t>(1, left.size() == 3 ? left[0] : right[0]);
    if (left.size() == 2) gemm.m = std::max<std::int64_t>(1, gemm.m / gemm.batch);
    if (right.size() == 2) gemm.n = std::max<std::int64_t>(1, gemm.n / gemm.batch);
  } else {
    // The gradient of the experts' matrices: what is summed over is dealt out.
    if (dims != 3) return std::nullopt;
    gemm.batch = std::max<std::int64_t>(1, call.outputs[0].sizes[0]);
    gemm.k = std::max<std::int64_t>(1, gemm.k / gemm.batch);
  }
  return shared(gemm, call.share);
}

}  // namespace flopcast::live
