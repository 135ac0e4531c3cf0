// What kernels do. Names only: metadata is missing outside the recorded window.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "flopcast/trace.h"

namespace flopcast {
namespace {

template <std::size_t Count>
bool contains_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

/// A kernel's name without its parameters, whose types name other things, in lower case.
std::string plain_name(std::string_view name) {
  std::size_t parameters = name.find('(');
  while (name.substr(std::min(parameters, name.size())).starts_with("(anonymous")) {
    parameters = name.find('(', parameters + 1);
  }
  std::string lower(name.substr(0, parameters));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

bool is_communication_kernel(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"nccl", "rccl", "hccl"};
  static constexpr std::array<std::string_view, 6> kInside = {
      "dpsk::ep::",          "deep_ep::",   "multimem_all_reduce",
      "cross_device_reduce", "mscclKernel", "nvshmem"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return contains_any(name, kInside);
}

KernelKind kernel_kind(std::string_view name) {
  if (is_communication_kernel(name)) return KernelKind::kCommunication;
  // FlashAttention, cuDNN, CUTLASS, AITER, xFormers, vLLM, FlashInfer.
  static constexpr std::array<std::string_view, 7> kAttention = {
      "attention", "attn", "flash_fwd", "flash_bwd", "fmha", "mla_", "flash::"};
  // nvjet: cuBLAS from 12.6 on; Cijk: Tensile; s16816, s884: tile sizes of older cuBLAS.
  static constexpr std::array<std::string_view, 15> kProducts = {
      "gemm",     "gemv",   "nvjet",  "cutlass_",   "cutlass::kernel",
      "cijk_",    "xmma_",  "splitk", "scudnn",     "winograd",
      "convolve", "conv2d", "conv_",  "cudnn::cnn", "grad_engine"};
  const std::string lower = plain_name(name);
  // Of Triton's fused kernels the name lists the operators, which are pointwise ones and
  // reductions: "triton_red_fused__flash_attention_backward_...".
  const bool fused = lower.starts_with("triton_poi_") || lower.starts_with("triton_red_") ||
                     lower.starts_with("triton_per_");
  if (fused) return KernelKind::kOther;
  if (contains_any(lower, kAttention)) return KernelKind::kAttention;
  return contains_any(lower, kProducts) ? KernelKind::kGemm : KernelKind::kOther;
}

}  // namespace flopcast
