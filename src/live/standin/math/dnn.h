// cuDNN: what its older and its newer interface share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flopcast::live {

/// cudnnStatus_t
enum DnnStatus : int { kDnnSuccess = 0, kDnnBadParameter = 2000, kDnnNotSupported = 3000 };
/// cudnnDataType_t, as far as kernels are told apart by it.
enum DnnType : int { kDnnFloat = 0, kDnnDouble = 1, kDnnHalf = 2, kDnnBrain = 9 };

struct DnnHandle {
  void* stream = nullptr;
};
inline void* stream_of_dnn(void* handle) { return static_cast<DnnHandle*>(handle)->stream; }

/// A tensor or filter: sizes from the batch (or the filters) over the channels to the space.
struct DnnTensor {
  int type = kDnnFloat;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t elements() const;
  double bytes() const;
};
std::size_t bytes_of_dnn(int type);

enum class Convolution : std::uint8_t { kForward, kBackwardData, kBackwardFilter };
/// A convolution as the product that it is: of the filters and the windows that they are laid on. @param data, result as
/// the forward pass has them @param tensor_cores whether operands of 32 bits may be rounded for them
void submit_convolution(void* stream, Convolution kind, const DnnTensor& data,
                        const DnnTensor& filter, const DnnTensor& result, bool tensor_cores);
/// What a type of cuDNN's is called in signatures of products.
const char* dnn_gemm_type(int type, bool tensor_cores);

}  // namespace flopcast::live
