// cuDNN's descriptors of tensors, filters and dropout, as its older functions have them.
#include <algorithm>

#include "live/standin/api/api.h"
#include "live/standin/math/dnn.h"
#include "live/standin/math/dnn_tensor.h"

namespace flopcast::live {
namespace {

/// Random states of dropout: cuDNN keeps them for each thread that its kernels have.
constexpr std::size_t kDropoutStates = std::size_t{1} << 20;

void set_packed(DnnTensor& tensor, int type, std::vector<std::int64_t> sizes) {
  tensor = {type, std::move(sizes), {}};
  tensor.strides.resize(tensor.sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0; stride *= tensor.sizes[i])
    tensor.strides[i] = stride;
}

void give_sizes(const std::vector<std::int64_t>& from, int room, int* out) {
  if (!out) return;
  const std::size_t given = std::min(from.size(), static_cast<std::size_t>(std::max(0, room)));
  for (std::size_t i = 0; i < given; ++i) out[i] = static_cast<int>(from[i]);
}

}  // namespace

void set_tensor(void* descriptor, int type, std::vector<std::int64_t> sizes) {
  if (descriptor) set_packed(dnn_tensor(descriptor), type, std::move(sizes));
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudnnCreateTensorDescriptor(void** descriptor) {
  return make_dnn<DnnTensor>(descriptor);
}
FLOPCAST_API int cudnnDestroyTensorDescriptor(void* descriptor) {
  return drop_dnn<DnnTensor>(descriptor);
}
FLOPCAST_API int cudnnSetTensorNdDescriptor(void* descriptor, int type, int count, const int* sizes,
                                            const int* strides) {
  if (count < 0) return kDnnBadParameter;
  dnn_tensor(descriptor) = {type, {sizes, sizes + count}, {strides, strides + count}};
  return kDnnSuccess;
}
FLOPCAST_API int cudnnSetTensor4dDescriptor(void* descriptor, int, int type, int n, int c, int h,
                                            int w) {
  set_tensor(descriptor, type, {n, c, h, w});
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetTensorNdDescriptor(void* descriptor, int room, int* type, int* count,
                                            int* sizes, int* strides) {
  const DnnTensor& own = dnn_tensor(descriptor);
  if (type) *type = own.type;
  if (count) *count = static_cast<int>(own.sizes.size());
  give_sizes(own.sizes, room, sizes);
  give_sizes(own.strides, room, strides);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetTensorSizeInBytes(void* descriptor, std::size_t* bytes) {
  *bytes = static_cast<std::size_t>(dnn_tensor(descriptor).bytes());
  return kDnnSuccess;
}

FLOPCAST_API int cudnnCreateFilterDescriptor(void** descriptor) {
  return make_dnn<DnnTensor>(descriptor);
}
FLOPCAST_API int cudnnDestroyFilterDescriptor(void* descriptor) {
  return drop_dnn<DnnTensor>(descriptor);
}
FLOPCAST_API int cudnnSetFilterNdDescriptor(void* descriptor, int type, int, int count,
                                            const int* sizes) {
  if (count < 0) return kDnnBadParameter;
  set_tensor(descriptor, type, {sizes, sizes + count});
  return kDnnSuccess;
}
FLOPCAST_API int cudnnGetFilterNdDescriptor(void* descriptor, int room, int* type, int* format,
                                            int* count, int* sizes) {
  if (format) *format = 0;
  return cudnnGetTensorNdDescriptor(descriptor, room, type, count, sizes, nullptr);
}

FLOPCAST_API int cudnnCreateDropoutDescriptor(void** descriptor) {
  return make_dnn<float>(descriptor);
}
FLOPCAST_API int cudnnDestroyDropoutDescriptor(void* descriptor) {
  return drop_dnn<float>(descriptor);
}
FLOPCAST_API int cudnnSetDropoutDescriptor(void* descriptor, void*, float share, void*, std::size_t,
                                           unsigned long long) {
  *static_cast<float*>(descriptor) = share;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnRestoreDropoutDescriptor(void* descriptor, void*, float share, void*,
                                               std::size_t, unsigned long long) {
  *static_cast<float*>(descriptor) = share;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnDropoutGetStatesSize(void*, std::size_t* bytes) {
  *bytes = kDropoutStates;
  return kDnnSuccess;
}
