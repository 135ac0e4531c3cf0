// Descriptors of cuDNN's older functions.
#pragma once

#include <vector>

#include "live/standin/math/dnn.h"

namespace flopcast::live {

template <typename T>
int make_dnn(void** descriptor) {
  *descriptor = new T{};
  return kDnnSuccess;
}
template <typename T>
int drop_dnn(void* descriptor) {
  delete static_cast<T*>(descriptor);
  return kDnnSuccess;
}
inline DnnTensor& dnn_tensor(void* descriptor) { return *static_cast<DnnTensor*>(descriptor); }
/// Without gaps, the last size innermost.
void set_tensor(void* descriptor, int type, std::vector<std::int64_t> sizes);

}  // namespace flopcast::live
