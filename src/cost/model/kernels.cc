// Names of kernels, and the work they do at least.
#include <algorithm>
#include <array>
#include <cmath>

#include "cost/forms/moe_form.h"
#include "cost/model/attention.h"
#include "cost/model/work.h"

namespace flopcast {

using namespace cost;  // the room's own names

namespace {

struct GemmTypeName {
  GemmType type;
  std::string_view name;
};
/// The first name of a type is the one printed.
constexpr std::array kGemmTypeNames = {
    GemmTypeName{GemmType::kFp32, "fp32"},
    GemmTypeName{GemmType::kTf32, "tf32"},
    GemmTypeName{GemmType::kBf16, "bf16"},
    GemmTypeName{GemmType::kFp16, "fp16"},
    GemmTypeName{GemmType::kFp8, "fp8"},
    GemmTypeName{GemmType::kFp8Static, "fp8_static"},
    GemmTypeName{GemmType::kFp8Block, "fp8_block"},
    GemmTypeName{GemmType::kNvfp4, "nvfp4"},
    GemmTypeName{GemmType::kInt8WeightOnly, "int8_wo"},
    GemmTypeName{GemmType::kInt4WeightOnly, "int4_wo"},
    GemmTypeName{GemmType::kSmoothQuant, "sq"},
    GemmTypeName{GemmType::kMxfp4Weight, "w4a16_mxfp4"},
    GemmTypeName{GemmType::kMxfp4Mxfp8, "w4a8_mxfp4_mxfp8"},
    GemmTypeName{GemmType::kBf16, "bfloat16"},
    GemmTypeName{GemmType::kFp16, "float16"},
    GemmTypeName{GemmType::kFp16, "half"},
    GemmTypeName{GemmType::kFp32, "float32"},
};

constexpr std::array<std::string_view, 15> kMemoryOpNames = {
    "layer_norm", "rms_norm",     "softmax",     "activation",    "gated_activation",
    "add",        "rope",         "embedding",   "cross_entropy", "optimizer",
    "copy",       "moe_dispatch", "moe_combine", "element_wise",  "quantize"};

}  // namespace

std::string_view name(GemmType type) { return kGemmTypeNames[static_cast<std::size_t>(type)].name; }

std::optional<GemmType> parse_gemm_type(std::string_view text) {
  for (const GemmTypeName& known : kGemmTypeNames) {
    if (known.name == text) return known.type;
  }
  return std::nullopt;
}

std::string_view name(MemoryOp op) { return kMemoryOpNames[static_cast<std::size_t>(op)]; }

std::optional<MemoryOp> parse_memory_op(std::string_view text) {
  const auto at = std::find(kMemoryOpNames.begin(), kMemoryOpNames.end(), text);
  if (at == kMemoryOpNames.end()) return std::nullopt;
  return static_cast<MemoryOp>(at - kMemoryOpNames.begin());
}

namespace cost {

double flops_of(const Gemm& g) {
  return 2 * size_of(g.m) * size_of(g.n) * size_of(g.k) * size_of(g.batch);
}
double bytes_of(const Gemm& g) {
  const OperandBytes b = operand_bytes(g.type);
  const double m = size_of(g.m), n = size_of(g.n), k = size_of(g.k);
  return size_of(g.batch) * (b.a * m * k + b.b * k * n + b.c * m * n);
}
double flops_of(const Attention& a) {
  const AttentionShape s = shape_of(a);
  const double forward = 4 * s.batch * s.heads * size_of(a.head_dim) * attention_pairs(s);
  return a.backward ? kBackwardFlops * forward : forward;
}
double bytes_of(const Attention& a) {
  const AttentionShape s = shape_of(a);
  const double dim = size_of(a.head_dim);
  const double reach =
      s.window > 0 ? std::min(s.keys, static_cast<double>(s.window) + s.queries - 1) : s.keys;
  const double q = s.heads * s.queries * dim, kv = s.kv_heads * reach * dim;
  const double forward =
      s.batch * (q * (bytes_per_element(a.type) + 2) + 2 * kv * bytes_per_element(a.kv_cache));
  return a.backward ? 2 * forward : forward;
}
double flops_of(const GroupedGemm& g) {
  const MoeShape s = shape_of(g);
  return 2 * s.matrices * s.hidden * s.inner * s.tokens * s.top_k / s.expert_parallel;
}
/// Experts of this chip that `rows` token copies meet when each goes its own way: E (1 - exp(-rows / E)). Where loads are
/// skewed some meet fewer; measured tables read no less than this share of it.
double experts_reached(double local, double rows, double skew) {
  constexpr double kLostToSkew = 0.25, kMostSkew = 1.2;
  const double even = -local * std::expm1(-rows / local);
  return std::max(1.0, even * (1 - kLostToSkew * std::clamp(skew, 0.0, kMostSkew)));
}
/// Weights of the experts that are reached, and the tokens in and out.
double bytes_of(const GroupedGemm& g) {
  const MoeShape s = shape_of(g);
  const OperandBytes b = operand_bytes(g.type);
  const double rows = s.tokens * s.top_k / s.expert_parallel;
  return s.matrices * s.hidden * s.inner * experts_reached(s.local_experts(), rows, g.skew) * b.b +
         std::min(rows, s.tokens) * s.hidden * (b.a + b.c);
}

}  // namespace cost

Flops kernel_flops(const Kernel& kernel) {
  return {std::visit([](const auto& k) { return cost::flops_of(k); }, kernel)};
}
Bytes kernel_bytes(const Kernel& kernel) {
  return {std::visit([](const auto& k) { return cost::bytes_of(k); }, kernel)};
}

}  // namespace flopcast
