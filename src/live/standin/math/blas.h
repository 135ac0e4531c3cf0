// Products, as cuBLAS and cuBLASLt both have them.
#pragma once

#include <cstdint>

namespace flopcast::live {

/// What a product of operands of this cudaDataType_t is priced as.
/// @param compute cublasComputeType_t: TF32 where it says so, for operands of 32 bits
const char* gemm_type_word(int type, int compute);
/// A product of m x k by k x n, `batch` times, on a stream. @return cublasStatus_t
int multiply(void* stream, const char* name, const char* type, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch);

}  // namespace flopcast::live
