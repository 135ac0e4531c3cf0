// What an operator was given, as profilers write it, and which kernel that is.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cost/operators/inputs.h"
#include "flopcast/cost/operators.h"

namespace flopcast {

using namespace cost;  // the room's own names

namespace {

namespace dom = simdjson::dom;

struct TypeName {
  std::string_view text;
  std::optional<DataType> type;
  double bytes;
};
constexpr std::array<TypeName, 14> kTypeNames = {{{"c10::BFloat16", DataType::kBf16, 2},
                                                  {"c10::Half", DataType::kFp16, 2},
                                                  {"float", DataType::kFp32, 4},
                                                  {"double", DataType::kFp64, 8},
                                                  {"c10::Float8_e4m3fn", DataType::kFp8, 1},
                                                  {"c10::Float8_e5m2", DataType::kFp8, 1},
                                                  {"c10::Float8_e4m3fnuz", DataType::kFp8, 1},
                                                  {"c10::Float8_e5m2fnuz", DataType::kFp8, 1},
                                                  {"signed char", DataType::kInt8, 1},
                                                  {"unsigned char", std::nullopt, 1},
                                                  {"long int", std::nullopt, 8},
                                                  {"long", std::nullopt, 8},
                                                  {"int", std::nullopt, 4},
                                                  {"bool", std::nullopt, 1}}};

void set_type(OperatorInput& input, std::string_view text) {
  for (const TypeName& known : kTypeNames) {
    if (known.text != text) continue;
    input.type = known.type;
    input.element_bytes = known.bytes;
  }
}

/// A size, or a list of sizes: one input each.
void add_sizes(const dom::array& sizes, std::string_view type, std::vector<OperatorInput>& out) {
  OperatorInput input;
  bool nested = false;
  for (const dom::element element : sizes) {
    std::int64_t extent = 0;
    dom::array inner;
    if (element.get(extent) == simdjson::SUCCESS) {
      input.size.push_back(extent);
    } else if (element.get(inner) == simdjson::SUCCESS) {
      nested = true;
      add_sizes(inner, type, out);
    }
  }
  if (nested) return;
  set_type(input, type);
  out.push_back(std::move(input));
}

/// Every text of an array; no text where a value is none.
std::vector<std::string> texts(dom::parser& parser, std::string_view text) {
  std::vector<std::string> out;
  dom::array values;
  if (parser.parse(simdjson::padded_string(text)).get(values) != simdjson::SUCCESS) return out;
  for (const dom::element value : values) {
    std::string_view one;
    out.emplace_back(value.get(one) == simdjson::SUCCESS ? one : std::string_view());
  }
  return out;
}

// --- Operators as kernels ------------------------------------------------------------------------

using Inputs = std::span<const OperatorInput>;

GemmType gemm_type(std::optional<DataType> type, std::string_view kernel) {
  switch (type.value_or(DataType::kBf16)) {
    case DataType::kFp32:
      // TF32 where a program allows it, which its operators do not tell.
      return kernel.find("tf32") != std::string_view::npos ||
                     kernel.find("s1688") != std::string_view::npos
                 ? GemmType::kTf32
                 : GemmType::kFp32;
    case DataType::kFp16:
      return GemmType::kFp16;
    case DataType::kFp8:
      return GemmType::kFp8;
    case DataType::kInt8:
      return GemmType::kSmoothQuant;
    default:
      return GemmType::kBf16;
  }
}

/// The two factors among an operator's inputs: `bias` tensors stand before them.
std::optional<Kernel> product(Inputs inputs, std::size_t bias, bool weight_is_transposed,
                              std::string_view kernel) {
  if (inputs.size() < bias + 2) return std::nullopt;
  const OperatorInput& a = inputs[bias];
  const OperatorInput& b = inputs[bias + 1];
  if (a.size.size() < 2 || b.size.size() < 2) return std::nullopt;
  Gemm gemm;
  const std::size_t rows = a.size.size() - 2;
  gemm.k = a.size.back();
  gemm.m = a.size[rows];
  gemm.n = weight_is_transposed ? b.size[b.size.size() - 2] : b.size.back();
  std::int64_t before = 1;
  for (std::size_t i = 0; i < rows; ++i) {
    before = std::min(before * std::clamp<std::int64_t>(a.size[i], 0, kMostExtent), kMostRows);
  }
  // One matrix for all: rows of one product; a matrix each: as many products.
  if (b.size.size() > 2) {
    gemm.batch = before;
  } else {
    gemm.m = std::clamp<std::int64_t>(gemm.m, 0, kMostExtent) * before;
  }
  gemm.type = gemm_type(a.type, kernel);
  return gemm;
}

struct AttentionLayout {
  std::string_view operation;
  std::size_t query = 0;     ///< input that the query is; key and value follow
  bool heads_first = false;  ///< [batch, heads, tokens, width]; else [batch, tokens, heads, width]
  bool backward = false;
};
constexpr std::array<AttentionLayout, 9> kAttention = {
    {{"_flash_attention_forward", 0, false, false},
     {"_flash_attention_backward", 1, false, true},
     {"_efficient_attention_forward", 0, false, false},
     {"_efficient_attention_backward", 1, false, true},
     {"_cudnn_attention_forward", 0, true, false},
     {"_cudnn_attention_backward", 1, true, true},
     {"_scaled_dot_product_cudnn_attention", 0, true, false},
     {"_scaled_dot_product_cudnn_attention_backward", 1, true, true},
     {"_scaled_dot_product_flash_attention", 0, true, false}}};

std::optional<Kernel> attention(const AttentionLayout& layout, Inputs inputs) {
  if (inputs.size() < layout.query + 3) return std::nullopt;
  const OperatorInput& query = inputs[layout.query];
  const OperatorInput& key = inputs[layout.query + 1];
  if (query.size.size() != 4 || key.size.size() != 4) return std::nullopt;
  const std::size_t tokens = layout.heads_first ? 2 : 1, heads = layout.heads_first ? 1 : 2;
  Attention attention;
  attention.batch = query.size[0];
  attention.query_length = query.size[tokens];
  attention.kv_length = key.size[tokens];
  attention.heads = query.size[heads];
  attention.kv_heads = key.size[heads];
  attention.head_dim = query.size[3];
  attention.causal = false;  // a flag that shapes do not tell
  attention.backward = layout.backward;
  attention.type = attention.kv_cache = query.type.value_or(DataType::kBf16);
  return attention;
}

}  // namespace

std::string_view cost::plain_operation(std::string_view operation) {
  constexpr std::string_view kNamespace = "aten::";
  if (operation.starts_with(kNamespace)) operation.remove_prefix(kNamespace.size());
  return operation;
}

std::vector<OperatorInput> operator_inputs(std::string_view dims, std::string_view types) {
  std::vector<OperatorInput> out;
  dom::parser type_parser, parser;
  const std::vector<std::string> kinds = texts(type_parser, types);
  dom::array inputs;
  if (parser.parse(simdjson::padded_string(dims)).get(inputs) != simdjson::SUCCESS) return out;
  std::size_t i = 0;
  for (const dom::element input : inputs) {
    const std::string_view type =
        i < kinds.size() ? std::string_view(kinds[i]) : std::string_view();
    ++i;
    dom::array sizes;
    if (input.get(sizes) == simdjson::SUCCESS) {
      add_sizes(sizes, type, out);
    } else {
      out.emplace_back();
    }
  }
  return out;
}

std::optional<Kernel> operator_kernel(std::string_view operation, Inputs inputs,
                                      std::string_view kernel) {
  const std::string_view name = plain_operation(operation);
  if (name == "mm" || name == "bmm" || name == "_scaled_mm" || name == "_int_mm" ||
      name == "matmul") {
    return product(inputs, 0, false, kernel);
  }
  if (name == "addmm" || name == "baddbmm") return product(inputs, 1, false, kernel);
  if (name == "linear") return product(inputs, 0, true, kernel);
  for (const AttentionLayout& layout : kAttention) {
    if (layout.operation == name) return attention(layout, inputs);
  }
  return std::nullopt;
}

}  // namespace flopcast
