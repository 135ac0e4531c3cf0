#include "live/standin/torch/tensors.h"

#include <ATen/SparseTensorImpl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// More stretches of a tensor than this are not told apart.
constexpr std::int64_t kMostStretches = 1 << 16;

/// From the first to the end of the last element.
std::int64_t span_bytes(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  std::int64_t last = 0;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return (last + 1) * static_cast<std::int64_t>(tensor.element_size());
}

/// A tensor as stretches of bytes without holes: all of one length, laid out by dimensions.
struct Stretches {
  c10::SmallVector<std::pair<std::int64_t, std::int64_t>, 6> outer;  ///< size, stride in bytes
  std::int64_t bytes = 0, count = 1;                                 ///< of one; of them
};

Stretches stretches_of(const at::Tensor& tensor) {
  Stretches all;
  all.bytes = static_cast<std::int64_t>(tensor.element_size());
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // A stride of zero repeats elements: they are there once.
    if (sizes[i] != 1 && strides[i] != 0)
      all.outer.emplace_back(sizes[i],
                             strides[i] * static_cast<std::int64_t>(tensor.element_size()));
  }
  std::sort(all.outer.begin(), all.outer.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  while (!all.outer.empty() && all.outer.back().second <= all.bytes) {
    // Windows that overlap make one stretch, too.
    all.bytes += (all.outer.back().first - 1) * all.outer.back().second;
    all.outer.pop_back();
  }
  for (const auto& [size, stride] : all.outer) all.count *= size;
  return all;
}

/// Calls visit(pointer, bytes) for each; stops where it answers false. @return whether none did
template <typename Visit>
bool each_stretch(const Stretches& all, const char* at, std::size_t dimension, Visit&& visit) {
  if (dimension == all.outer.size()) return visit(at, static_cast<std::size_t>(all.bytes));
  const auto [size, stride] = all.outer[dimension];
  for (std::int64_t i = 0; i < size; ++i) {
    if (!each_stretch(all, at + i * stride, dimension + 1, visit)) return false;
  }
  return true;
}

/// The same tensor of other indices and values.
template <typename Change>
at::Tensor rebuilt(const at::Tensor& sparse, c10::Device device, Change&& change) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : parts_of(sparse)) parts.push_back(change(part));
  const auto options = sparse.options().device(device);
  if (sparse.layout() == c10::kSparse)
    return at::_sparse_coo_tensor_unsafe(parts[0], parts[1], sparse.sizes(), options,
                                         sparse.is_coalesced());
  return at::_sparse_compressed_tensor_unsafe(parts[0], parts[1], parts[2], sparse.sizes(),
                                              options);
}

const char* first_byte(const at::Tensor& tensor) {
  return static_cast<const char*>(tensor.const_data_ptr());
}

}  // namespace

std::vector<at::Tensor> parts_of(const at::Tensor& sparse) {
  if (sparse.layout() == c10::kSparse) {
    const auto* const own = static_cast<at::SparseTensorImpl*>(sparse.unsafeGetTensorImpl());
    return {own->indices(), own->values()};
  }
  const auto* const own = at::sparse_csr::get_sparse_csr_impl(sparse);
  return {own->compressed_indices(), own->plain_indices(), own->values()};
}

FlopcastTensor described(const at::Tensor& tensor) {
  const bool strided = tensor.layout() == c10::kStrided && tensor.has_storage();
  if (!strided)
    return {nullptr, 0, static_cast<std::int32_t>(tensor.scalar_type()), 0, nullptr, nullptr};
  const auto sizes = tensor.sizes();
  return {tensor.numel() > 0 ? first_byte(tensor) : nullptr,
          span_bytes(tensor),
          static_cast<std::int32_t>(tensor.scalar_type()),
          static_cast<std::int32_t>(sizes.size()),
          sizes.data(),
          tensor.strides().data()};
}

bool is_valid(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  const char* const at = first_byte(tensor);
  if (flopcast_live_valid(at, static_cast<std::size_t>(span_bytes(tensor)))) return true;
  if (tensor.is_non_overlapping_and_dense()) return false;
  const Stretches all = stretches_of(tensor);
  if (all.count > kMostStretches) return false;
  return each_stretch(all, at, 0, [](const char* from, std::size_t bytes) {
    return flopcast_live_valid(from, bytes);
  });
}

void mark_valid(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const Stretches all = stretches_of(tensor);
  if (all.count > kMostStretches) return;
  each_stretch(all, first_byte(tensor), 0, [](const char* from, std::size_t bytes) {
    flopcast_live_mark_valid(from, bytes);
    return true;
  });
}

void taint(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const Stretches all = stretches_of(tensor);
  if (all.count > kMostStretches) {
    flopcast_live_taint(first_byte(tensor), static_cast<std::size_t>(span_bytes(tensor)));
    return;
  }
  each_stretch(all, first_byte(tensor), 0, [](const char* from, std::size_t bytes) {
    flopcast_live_taint(from, bytes);
    return true;
  });
}

at::Tensor as_cpu(const at::Tensor& tensor) {
  if (is_sparse(tensor) && tensor.is_cuda())
    return rebuilt(tensor, at::kCPU, [](const at::Tensor& part) { return as_cpu(part); });
  if (!of_gpu(tensor)) return tensor;
  const auto options = at::TensorOptions().dtype(tensor.dtype()).device(at::kCPU);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  at::Tensor same = at::for_blob(const_cast<char*>(first_byte(tensor)), tensor.sizes())
                        .strides(tensor.strides())
                        .options(options)
                        .target_device(at::kCPU)
                        .make_tensor();
  if (tensor.is_conj()) same._set_conj(true);
  if (tensor.is_neg()) same._set_neg(true);
  return same;
}

void write(const at::Tensor& to, const at::Tensor& values) {
  if (to.numel() == 0) return;
  const at::Tensor same = as_cpu(to);
  if (values.scalar_type() == same.scalar_type() && values.is_contiguous() &&
      same.is_contiguous()) {
    std::memcpy(same.mutable_data_ptr(), values.const_data_ptr(), values.nbytes());
  } else {
    same.copy_(values);
  }
  mark_valid(to);
}

at::Tensor on_gpu(const at::Tensor& values, c10::Device device) {
  if (is_sparse(values))
    return rebuilt(values, device, [&](const at::Tensor& part) { return on_gpu(part, device); });
  at::Tensor made =
      at::empty_strided(values.sizes(), values.strides(), values.options().device(device));
  write(made, values);
  return made;
}

}  // namespace flopcast::plugin
