// Tensors of a GPU as memory of this process: their bytes, whether those are valid, and the same tensors as the CPU sees them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "live/standin/operators/operator.h"

namespace flopcast::plugin {

/// Strided memory of a GPU: what has bytes of its own.
inline bool of_gpu(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cuda() && tensor.layout() == c10::kStrided &&
         tensor.has_storage();
}

/// Whether indices say where its elements are (COO, CSR and their like).
inline bool is_sparse(const at::Tensor& tensor) {
  return tensor.defined() &&
         (tensor.layout() == c10::kSparse || at::sparse_csr::is_sparse_compressed(tensor));
}
/// Its indices and values, which are strided memory.
std::vector<at::Tensor> parts_of(const at::Tensor& sparse);

/// Calls visit(tensor) for every tensor in it that is defined: itself, those of a list; of sparse ones their parts.
template <typename Visit>
void each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    if (!is_sparse(tensor)) return visit(tensor);
    for (const at::Tensor& part : parts_of(tensor)) visit(part);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) each_tensor(item, visit);
  }
}

/// As the core wants it told. Its arrays are the tensor's.
FlopcastTensor described(const at::Tensor& tensor);

/// Whether all elements are valid; those of an empty tensor are.
bool is_valid(const at::Tensor& tensor);
/// Elements alone, and not what lies between them.
void mark_valid(const at::Tensor& tensor);
/// May taint what lies between elements where there are very many stretches.
void taint(const at::Tensor& tensor);

/// The same bytes as a tensor of the CPU, without autograd. A tensor that is no GPU's stays as it is.
at::Tensor as_cpu(const at::Tensor& tensor);

/// Writes values into a tensor of a GPU and marks it valid. @param values of the CPU, of the same sizes
void write(const at::Tensor& to, const at::Tensor& values);
/// A tensor of the GPU with these values.
at::Tensor on_gpu(const at::Tensor& values, c10::Device device);

}  // namespace flopcast::plugin
