#include "workload/dataflow/builder.h"

#include <algorithm>

namespace flopcast::workload {

std::uint32_t DataflowBuilder::add(DataflowKernel kernel, Bytes output) {
  graph_.kernels.push_back(std::move(kernel));
  outputs_.push_back(output);
  tensors_.push_back(kNoTensor);
  return static_cast<std::uint32_t>(graph_.kernels.size() - 1);
}

DataflowTensor& DataflowBuilder::tensor_of(std::uint32_t kernel) {
  if (tensors_[kernel] == kNoTensor) {
    tensors_[kernel] = static_cast<std::uint32_t>(graph_.tensors.size());
    graph_.tensors.push_back({.name = graph_.kernels[kernel].name,
                              .producer = kernel,
                              .bytes = outputs_[kernel],
                              .uses = {},
                              .per_sample = true});
  }
  return graph_.tensors[tensors_[kernel]];
}

void DataflowBuilder::feed(std::uint32_t from, std::uint32_t to, Operand operand) {
  tensor_of(from).uses.push_back({to, operand});
}

void DataflowBuilder::leave(std::uint32_t kernel) { tensor_of(kernel); }

DataflowGraph DataflowBuilder::finish() {
  std::sort(
      graph_.tensors.begin(), graph_.tensors.end(),
      [](const DataflowTensor& a, const DataflowTensor& b) { return a.producer < b.producer; });
  return std::move(graph_);
}

}  // namespace flopcast::workload
