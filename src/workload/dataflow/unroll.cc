// Copies of a layer's graph in series: forward 0 .. L-1, then backward L-1 .. 0.
#include <fmt/format.h>

#include <algorithm>

#include "workload/dataflow/links.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Where one copy is joined to the next.
struct Seams {
  std::uint32_t entry = kNone;                ///< first forward kernel that reads nothing
  std::uint32_t exit = kNone;                 ///< tensor: what the last forward kernel hands on
  std::uint32_t backward_entry = kNone;       ///< first backward kernel that reads nothing
  std::vector<std::uint32_t> backward_exits;  ///< kernels that end with a gradient of the input
};

Seams seams_of(const DataflowGraph& layer) {
  Seams seams;
  const dataflow::Links links(layer);
  for (const std::uint32_t i : dataflow::order(links)) {
    const bool backward = layer.kernels[i].backward;
    if (links.inputs[i] == 0) {
      std::uint32_t& entry = backward ? seams.backward_entry : seams.entry;
      if (entry == kNone) entry = i;
    }
    if (backward && links.readers[i].empty() && layer.kernels[i].gradient.value == 0) {
      seams.backward_exits.push_back(i);
    }
  }
  for (std::uint32_t t = 0; t < layer.tensors.size(); ++t) {
    const DataflowTensor& tensor = layer.tensors[t];
    if (tensor.uses.empty() && !layer.kernels[tensor.producer].backward) seams.exit = t;
  }
  return seams;
}

/// Indices of the unrolled graph's kernels: forward copies first, backward copies in reverse.
class Copies {
 public:
  Copies(const DataflowGraph& layer, std::int64_t layers) : layer_(layer), layers_(layers) {
    for (const DataflowKernel& kernel : layer.kernels) {
      rank_.push_back(kernel.backward ? backward_++ : forward_++);
    }
  }
  std::uint32_t operator()(std::uint32_t kernel, std::int64_t copy) const {
    const std::int64_t before = layer_.kernels[kernel].backward
                                    ? layers_ * forward_ + (layers_ - 1 - copy) * backward_
                                    : copy * forward_;
    return static_cast<std::uint32_t>(before + rank_[kernel]);
  }

 private:
  const DataflowGraph& layer_;
  std::int64_t layers_, forward_ = 0, backward_ = 0;
  std::vector<std::int64_t> rank_;  // among the forward, or among the backward kernels
};

void copy_layer(const DataflowGraph& layer, const Copies& copies, std::int64_t copy,
                DataflowGraph& graph) {
  for (std::uint32_t i = 0; i < layer.kernels.size(); ++i) {
    DataflowKernel& kernel = graph.kernels[copies(i, copy)];
    kernel = layer.kernels[i];
    kernel.name += fmt::format("@{}", copy);
  }
  for (const DataflowTensor& tensor : layer.tensors) {
    DataflowTensor& copied = graph.tensors.emplace_back(tensor);
    copied.name += fmt::format("@{}", copy);
    copied.producer = copies(tensor.producer, copy);
    for (DataflowUse& use : copied.uses) use.kernel = copies(use.kernel, copy);
  }
}

/// The gradient of a copy's input, which the copy before it starts from, is as large as that input.
void join_backward(const DataflowGraph& layer, const Seams& seams, const Copies& copies,
                   std::int64_t copy, DataflowGraph& graph) {
  const DataflowTensor& handed = layer.tensors[seams.exit];
  for (const std::uint32_t i : seams.backward_exits) {
    const DataflowUse use{copies(seams.backward_entry, copy - 1), Operand::kPointwise};
    const auto known =
        std::find_if(layer.tensors.begin(), layer.tensors.end(),
                     [i](const DataflowTensor& tensor) { return tensor.producer == i; });
    if (known != layer.tensors.end()) {
      const auto at =
          copy * static_cast<std::int64_t>(layer.tensors.size()) + (known - layer.tensors.begin());
      graph.tensors[static_cast<std::size_t>(at)].uses.push_back(use);
      continue;
    }
    graph.tensors.push_back({.name = fmt::format("{}@{}", layer.kernels[i].name, copy),
                             .producer = copies(i, copy),
                             .bytes = handed.bytes,
                             .uses = {use},
                             .per_sample = handed.per_sample});
  }
}

}  // namespace

DataflowGraph unroll(const DataflowGraph& layer, std::int64_t layers) {
  if (layers == 1) return layer;
  const Copies copies(layer, layers);
  DataflowGraph graph;
  graph.name = fmt::format("{} x {}", layer.name, layers);
  graph.kernels.resize(layer.kernels.size() * static_cast<std::size_t>(layers));
  for (std::int64_t copy = 0; copy < layers; ++copy) copy_layer(layer, copies, copy, graph);
  const Seams seams = seams_of(layer);
  if (seams.exit == kNone || seams.entry == kNone) return graph;
  for (std::int64_t copy = 0; copy + 1 < layers; ++copy) {
    const auto handed = static_cast<std::size_t>(copy) * layer.tensors.size() + seams.exit;
    graph.tensors[handed].uses.push_back({copies(seams.entry, copy + 1), Operand::kPointwise});
  }
  if (seams.backward_entry == kNone) return graph;
  for (std::int64_t copy = layers - 1; copy > 0; --copy) {
    join_backward(layer, seams, copies, copy, graph);
  }
  return graph;
}

}  // namespace flopcast
