// Sums over a dataflow graph, and the same graph for several samples.
#include "base/text/names.h"
#include "flopcast/workload/dataflow.h"
#include "workload/dataflow/names.h"

namespace flopcast {

using namespace workload;  // the room's own names

std::string_view name(DataflowKind kind) { return dataflow::kKinds[static_cast<int>(kind)]; }
std::string_view name(KernelDimension dimension) {
  return dataflow::kDimensions[static_cast<int>(dimension)];
}
std::string_view name(Operand operand) { return dataflow::kOperands[static_cast<int>(operand)]; }
std::string_view name(DataflowTransferKind kind) {
  return dataflow::kTransfers[static_cast<int>(kind)];
}
std::string_view name(DataflowPass pass) { return dataflow::kPasses[static_cast<int>(pass)]; }

Flops DataflowKernel::work() const {
  const double elements =
      static_cast<double>(outer) * static_cast<double>(m) * static_cast<double>(n);
  return {elements * (systolic() ? 2 * static_cast<double>(k) : operations)};
}

Flops DataflowGraph::work() const {
  Flops sum;
  for (const DataflowKernel& kernel : kernels) sum += kernel.work();
  return sum;
}

std::size_t DataflowGraph::uses() const {
  std::size_t sum = 0;
  for (const DataflowTensor& tensor : tensors) sum += tensor.uses.size();
  return sum;
}

Bytes DataflowGraph::weights() const {
  Bytes sum;
  // Backward kernels read the weights of the forward pass once more: the same parameters.
  for (const DataflowKernel& kernel : kernels) {
    if (!kernel.backward) sum += kernel.weight;
  }
  return sum;
}

Result<std::uint32_t> DataflowGraph::find(std::string_view kernel) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == kernel) return static_cast<std::uint32_t>(i);
    names.push_back(kernels[i].name);
  }
  return Diagnostic{ErrorCode::kUsage, std::string(kernel), "is no kernel of " + name,
                    did_you_mean(kernel, names, "name one of its kernels")};
}

namespace {

void multiply(DataflowKernel& kernel, std::int64_t samples) {
  switch (kernel.batch) {
    case KernelDimension::kNone:
      break;
    case KernelDimension::kOuter:
      kernel.outer *= samples;
      break;
    case KernelDimension::kM:
      kernel.m *= samples;
      break;
    case KernelDimension::kN:
      kernel.n *= samples;
      break;
    case KernelDimension::kK:
      kernel.k *= samples;
      break;
  }
  if (!kernel.traffic_per_sample) return;
  kernel.traffic *= static_cast<double>(samples);
  for (DataflowTransfer& transfer : kernel.transfers) {
    transfer.bytes *= static_cast<double>(samples);
  }
}

}  // namespace

DataflowGraph at_microbatch(const DataflowGraph& graph, std::int64_t samples) {
  DataflowGraph scaled = graph;
  for (DataflowKernel& kernel : scaled.kernels) multiply(kernel, samples);
  for (DataflowTensor& tensor : scaled.tensors) {
    if (tensor.per_sample) tensor.bytes *= static_cast<double>(samples);
  }
  return scaled;
}

}  // namespace flopcast
