// Marks and values that every stand-in uses. Names and numbers are those of NVIDIA's public interfaces; no
// header of theirs is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

/// An entry of a library that programs load.
#define FLOPCAST_API extern "C" __attribute__((visibility("default")))

namespace flopcast::live {

/// What calls of the CUDA runtime and driver answer (cudaError_t and CUresult agree on these).
enum Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidConfiguration = 9,
  kInvalidSymbol = 13,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoImageForDevice = 209,
  kFileNotFound = 301,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCapturedEvent = 907,
  kGraphUpdateFailure = 910,
};

/// Three sizes of a grid or of a block of threads.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  std::uint64_t product() const { return std::uint64_t{x} * y * z; }
};

/// Keeps the status for cudaGetLastError, as every call of the runtime does.
int remembered(int status);
/// The device of this thread.
int current_device();
/// Host time of one call, which a record of it tells.
inline constexpr std::uint32_t kCallNs = 1500;

}  // namespace flopcast::live
