#include "live/engine/pricing/named_kernels.h"

#include <algorithm>

namespace flopcast::live {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Of the type that the template's functor works on.
double element_bytes(std::string_view name) {
  if (contains(name, "BFloat16") || contains(name, "4HalfE")) return 2;
  if (contains(name, "Functor_addId") || contains(name, "FunctorId")) return 8;
  if (contains(name, "FunctorIl")) return 8;
  if (contains(name, "FunctorIb") || contains(name, "FunctorIh")) return 1;
  return 4;
}

/// How often each element is read and written.
struct Passes {
  double read = 1, written = 1;
};
Passes passes_of(std::string_view name) {
  if (contains(name, "FillFunctor")) return {0, 1};
  if (contains(name, "BinaryFunctor") || contains(name, "CUDAFunctor_add")) return {2, 1};
  return {1, 1};
}

/// "TensorListMetadataILi4E": four lists.
double lists_of_name(std::string_view name) {
  constexpr std::string_view kLists = "TensorListMetadataILi";
  const std::size_t at = name.find(kLists);
  if (at == std::string_view::npos || at + kLists.size() >= name.size()) return 0;
  const char digit = name[at + kLists.size()];
  return digit >= '1' && digit <= '9' ? digit - '0' : 0;
}

MemoryBound moved_bytes(MemoryOp op, double read, double written) {
  MemoryBound kernel;
  kernel.op = op;
  kernel.rows = 1;
  kernel.columns = std::max<std::int64_t>(1, static_cast<std::int64_t>((read + written) / 4));
  kernel.read = Bytes{read};
  kernel.written = Bytes{written};
  return kernel;
}

}  // namespace

std::optional<MemoryBound> named_kernel(std::string_view name, std::uint64_t threads) {
  const double all = static_cast<double>(std::max<std::uint64_t>(1, threads));
  if (contains(name, "elementwise_kernel")) {
    // A thread of ATen's handles eight elements where they are loaded as vectors, else four.
    const double elements = all * (contains(name, "vectorized") ? 8 : 4);
    const Passes passes = passes_of(name);
    const double bytes = elements * element_bytes(name);
    return moved_bytes(MemoryOp::kElementWise, passes.read * bytes, passes.written * bytes);
  }
  if (const double lists = lists_of_name(name); lists > 0) {
    // A block of 512 threads does a chunk of 65,536 elements of every list.
    const double bytes = all * 128 * lists * element_bytes(name);
    return moved_bytes(MemoryOp::kOptimizer, bytes, bytes / lists);
  }
  if (name.starts_with("triton_")) {
    // Inductor's blocks: about eight elements a thread, two read and one written, of two to four bytes.
    return moved_bytes(MemoryOp::kElementWise, all * 48, all * 24);
  }
  return std::nullopt;
}

}  // namespace flopcast::live
