#include "live/engine/pricing/same_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "live/engine/pricing/kernels.h"

namespace flopcast::live {
namespace {

/// "cum_seq_k=i32:3@0;256;1280,max_k=..." without the values.
std::string without_values(std::string_view signature) {
  std::string text;
  while (!signature.empty()) {
    const std::size_t at = std::min(signature.find('@'), signature.size());
    text += signature.substr(0, at);
    signature.remove_prefix(at);
    signature.remove_prefix(std::min(signature.find_first_of(", "), signature.size()));
  }
  return text;
}

}  // namespace

std::string work_text(std::string_view signature, const OperatorTable& table) {
  if (!signature.starts_with("operator ") || signature.find('@') == std::string_view::npos)
    return std::string(signature);
  const Signature read = parse_signature(signature, 1, table);
  if (!read.known) return std::string(signature);
  double flops = kernel_flops(read.kernel).value;
  if (read.counted) {
    for (const CountedKernel::Part& part : read.counted->products)
      flops += part.share * kernel_flops(part.kernel).value;
  }
  return fmt::format("{} {:.6g} {:.6g}", without_values(signature), flops,
                     kernel_bytes(read.kernel).value);
}

}  // namespace flopcast::live
