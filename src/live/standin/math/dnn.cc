// cuDNN: library, handles, and convolutions as products.
#include "live/standin/math/dnn.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>

#include "live/standin/api/api.h"
#include "live/standin/math/submit.h"

namespace flopcast::live {
namespace {

/// Not older than what PyTorch was built with, which it checks: 2.15 of CUDA 13 with 9.26, 2.9 of CUDA 12 with 9.10.
constexpr std::size_t kDnnVersion = FLOPCAST_CUDA_MAJOR == 12 ? 91002 : 92600;

/// libraryPropertyType: major, minor, patch
int property(int which) {
  const auto version = static_cast<int>(kDnnVersion);
  return which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::size_t bytes_of_dnn(int type) {
  switch (type) {
    case kDnnDouble:
    case 10:  // int64
      return 8;
    case kDnnHalf:
    case kDnnBrain:
      return 2;
    case kDnnFloat:
    case 4:  // int32
      return 4;
    default:
      return 1;
  }
}

std::int64_t DnnTensor::elements() const { return product(sizes); }
double DnnTensor::bytes() const {
  return static_cast<double>(elements()) * static_cast<double>(bytes_of_dnn(type));
}

const char* dnn_gemm_type(int type, bool tensor_cores) {
  switch (type) {
    case kDnnHalf:
      return "fp16";
    case kDnnBrain:
      return "bf16";
    case 12:  // two formats of eight bits
    case 13:
      return "fp8";
    default:
      return tensor_cores && type == kDnnFloat ? "tf32" : "fp32";
  }
}

void submit_convolution(void* stream, Convolution kind, const DnnTensor& data,
                        const DnnTensor& filter, const DnnTensor& result, bool tensor_cores) {
  if (data.sizes.size() < 3 || filter.sizes.size() < 3 || result.sizes.size() < 3) return;
  const char* const type = dnn_gemm_type(data.type, tensor_cores);
  const std::int64_t groups = std::max<std::int64_t>(1, data.sizes[1] / filter.sizes[1]);
  const std::int64_t filters = filter.sizes[0] / groups;
  const std::int64_t window = product(std::span(filter.sizes).subspan(1));
  const std::int64_t places = result.sizes[0] * product(std::span(result.sizes).subspan(2));
  switch (kind) {
    case Convolution::kForward:
      submit_gemm(stream, type, places, filters, window, groups, "cudnn convolution forward");
      break;
    case Convolution::kBackwardData:
      submit_gemm(stream, type, places, window, filters, groups, "cudnn convolution backward data");
      break;
    case Convolution::kBackwardFilter:
      submit_gemm(stream, type, filters, window, places, groups,
                  "cudnn convolution backward filter");
      break;
  }
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API std::size_t cudnnGetVersion() { return kDnnVersion; }
FLOPCAST_API std::size_t cudnnGetMaxDeviceVersion() { return 1200; }
FLOPCAST_API std::size_t cudnnGetCudartVersion() {
  return FLOPCAST_CUDA_MAJOR == 12 ? 12080 : 13020;
}
FLOPCAST_API int cudnnGetProperty(int which, int* value) {
  *value = property(which);
  return kDnnSuccess;
}
FLOPCAST_API const char* cudnnGetErrorString(int status) {
  return status == kDnnSuccess        ? "CUDNN_STATUS_SUCCESS"
         : status == kDnnBadParameter ? "CUDNN_STATUS_BAD_PARAM"
                                      : "CUDNN_STATUS_NOT_SUPPORTED";
}
FLOPCAST_API void cudnnGetLastErrorString(char* text, std::size_t size) {
  if (size > 0) std::snprintf(text, size, "nothing more is known");
}
FLOPCAST_API int cudnnCreate(void** handle) {
  *handle = new DnnHandle;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnDestroy(void* handle) {
  delete static_cast<DnnHandle*>(handle);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnSetStream(void* handle, void* stream) {
  static_cast<DnnHandle*>(handle)->stream = stream;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetStream(void* handle, void** stream) {
  *stream = stream_of_dnn(handle);
  return kDnnSuccess;
}
