// What code of CUTLASS's DSL in Python asks of its runtime library beside CUDA's own functions (api/cute.tsv).
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "live/standin/api/api.h"

extern "C" {
int cudaLibraryUnload(void*);
int cudaGetDeviceCount(int*);
const char* cudaGetErrorName(int);
const char* cudaGetErrorString(int);
}

namespace flopcast::live {
namespace {

std::string cute_error(int status) {
  return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

/// Makes the library of a compiled program, and loads it onto the devices: well where any of them takes it.
int load_cute_library(void** library, int (*make)(void**), int (*load)(void**, int)) {
  if (const int status = make(library)) return status;
  int devices = 0;
  if (const int status = cudaGetDeviceCount(&devices)) return status;
  int failed = 0, status = kSuccess;
  for (int device = 0; load && device < devices; ++device) {
    if (const int own = load(library, device)) ++failed, status = own;
  }
  return failed == devices ? status : kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API const char* cuda_dialect_get_error_name(int status) {
  return cudaGetErrorName(status);
}
FLOPCAST_API void cuda_dialect_print_on_error(int status) {
  if (status != kSuccess) std::fprintf(stderr, "%s\n", cute_error(status).c_str());
}
FLOPCAST_API void cuda_dialect_assert_success(int status) {
  cuda_dialect_print_on_error(status);
  if (status != kSuccess) std::abort();
}

/// @param raise  takes a kind of exception and its text. @return 0, or -1 with an exception raised
FLOPCAST_API int cuda_dialect_init_library_once(void** library, int (*make)(void**),
                                                int (*load)(void**, int),
                                                void (*raise)(const char*, const char*)) {
  static std::mutex once;
  const std::lock_guard guard(once);
  if (*library) return 0;
  void* fresh = nullptr;
  if (const int status = load_cute_library(&fresh, make, load)) {
    raise("RuntimeError", ("CUDA Error: " + cute_error(status)).c_str());
    return -1;
  }
  *library = fresh;
  return 0;
}
FLOPCAST_API void cuda_dialect_unload_library_once(void** library) {
  if (void* const loaded = __atomic_exchange_n(library, nullptr, __ATOMIC_ACQ_REL))
    cudaLibraryUnload(loaded);
}

/// @param raise  takes a kind of exception, and its text in parts
FLOPCAST_API void CuteDSLRT_TVMFFISetRaisedCudaError(void (*raise)(const char*, const char**, int),
                                                     int status) {
  const std::string number = std::to_string(status);
  const char* parts[] = {"CUDA Error Code: ", number.c_str()};
  if (raise) raise("CUDADialectError", parts, 2);
}
