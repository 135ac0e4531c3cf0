// cuBLAS: every product is a kernel with its sizes and types; nothing is multiplied.
#include "live/standin/math/blas.h"
#include "live/standin/api/api.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// cublasStatus_t
enum BlasStatus : int { kBlasSuccess = 0, kBlasNotInitialized = 1, kBlasInvalidValue = 7 };
/// cudaDataType_t
enum BlasType : int {
  kReal32 = 0,
  kReal64 = 1,
  kReal16 = 2,
  kInt8 = 3,
  kBrain16 = 14,
  kFp8E4M3 = 28,
  kFp8E5M2 = 29,
  kFp4E2M1 = 33
};
constexpr int kTf32Math = 3, kComputeTf32 = 77;

struct Handle : LibraryHandle {
  int math = 0, pointers = 0;
};

Handle& handle_of(void* handle) { return *static_cast<Handle*>(handle); }

}  // namespace

const char* gemm_type_word(int type, int compute) {
  switch (type) {
    case kReal16:
      return "fp16";
    case kBrain16:
      return "bf16";
    case kFp8E4M3:
    case kFp8E5M2:
      return "fp8";
    case kFp4E2M1:
      return "nvfp4";
    case kInt8:
      return "sq";  // eight bits by eight
    default:
      return compute == kComputeTf32 ? "tf32" : "fp32";
  }
}

int multiply(void* stream, const char* name, const char* type, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch) {
  if (m < 0 || n < 0 || k < 0 || batch < 0) return kBlasInvalidValue;
  submit_gemm(stream, type, m, n, k, batch, name);
  return kBlasSuccess;
}

namespace {

int multiply(void* handle, const char* name, int type, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, int compute = 0) {
  if (!handle) return kBlasNotInitialized;
  const Handle& h = handle_of(handle);
  if (h.math == kTf32Math) compute = kComputeTf32;
  return live::multiply(h.stream, name, gemm_type_word(type, compute), m, n, k, batch);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

/// PyTorch asks before it takes products that newer versions have.
constexpr std::size_t kBlasVersion = FLOPCAST_CUDA_MAJOR == 12 ? 120804 : 130200;
FLOPCAST_API std::size_t cublasLtGetVersion() { return kBlasVersion; }

FLOPCAST_API int cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return kBlasSuccess;
}
FLOPCAST_API int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return kBlasSuccess;
}
FLOPCAST_API int cublasSetStream_v2(void* handle, void* stream) {
  handle_of(handle).stream = stream;
  return kBlasSuccess;
}
FLOPCAST_API int cublasGetStream_v2(void* handle, void** stream) {
  *stream = handle_of(handle).stream;
  return kBlasSuccess;
}
FLOPCAST_API int cublasSetWorkspace_v2(void*, void*, std::size_t) { return kBlasSuccess; }
FLOPCAST_API int cublasSetMathMode(void* handle, int mode) {
  handle_of(handle).math = mode;
  return kBlasSuccess;
}
FLOPCAST_API int cublasGetMathMode(void* handle, int* mode) {
  *mode = handle_of(handle).math;
  return kBlasSuccess;
}
FLOPCAST_API int cublasSetPointerMode_v2(void* handle, int mode) {
  handle_of(handle).pointers = mode;
  return kBlasSuccess;
}
FLOPCAST_API int cublasGetPointerMode_v2(void* handle, int* mode) {
  *mode = handle_of(handle).pointers;
  return kBlasSuccess;
}

FLOPCAST_API int cublasSgemm_v2(void* handle, int, int, int m, int n, int k, const void*,
                                const void*, int, const void*, int, const void*, void*, int) {
  return multiply(handle, "cublasSgemm", kReal32, m, n, k, 1);
}
FLOPCAST_API int cublasSgemmStridedBatched(void* handle, int, int, int m, int n, int k, const void*,
                                           const void*, int, long long, const void*, int, long long,
                                           const void*, void*, int, long long, int batch) {
  return multiply(handle, "cublasSgemmStridedBatched", kReal32, m, n, k, batch);
}
FLOPCAST_API int cublasGemmEx(void* handle, int, int, int m, int n, int k, const void*, const void*,
                              int type, int, const void*, int, int, const void*, void*, int, int,
                              int compute, int) {
  return multiply(handle, "cublasGemmEx", type, m, n, k, 1, compute);
}
FLOPCAST_API int cublasGemmStridedBatchedEx(void* handle, int, int, int m, int n, int k,
                                            const void*, const void*, int type, int, long long,
                                            const void*, int, int, long long, const void*, void*,
                                            int, int, long long, int batch, int compute, int) {
  return multiply(handle, "cublasGemmStridedBatchedEx", type, m, n, k, batch, compute);
}
FLOPCAST_API int cublasGemmBatchedEx(void* handle, int, int, int m, int n, int k, const void*,
                                     const void* const*, int type, int, const void* const*, int,
                                     int, const void*, void* const*, int, int, int batch,
                                     int compute, int) {
  return multiply(handle, "cublasGemmBatchedEx", type, m, n, k, batch, compute);
}
