// Calls of a mathematical library as kernels on a stream.
#pragma once

#include <cstdint>
#include <string_view>

namespace flopcast::live {

/// Handles of cuBLAS, cuSOLVER and cuSPARSE begin with the stream that they work on.
struct LibraryHandle {
  void* stream = nullptr;
};
inline void* stream_of_library(void* handle) {
  return handle ? static_cast<LibraryHandle*>(handle)->stream : nullptr;
}

/// One kernel that is what the signature says (src/live/engine/pricing/kernels.h).
void submit(void* stream, std::string_view signature);
/// A kernel that has to move these bytes and is bound by it.
void submit_memory(void* stream, double read, double written, const char* name);
/// A product of m x k by k x n, `batch` times, of a type as signatures name it.
void submit_gemm(void* stream, const char* type, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t batch, const char* name);

}  // namespace flopcast::live
