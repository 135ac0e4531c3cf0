// Kahn's algorithm: orders and levels of a dataflow graph's kernels.
#include <algorithm>
#include <functional>
#include <queue>

#include "flopcast/workload/dataflow.h"
#include "workload/dataflow/links.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace workload::dataflow {

Links::Links(const DataflowGraph& graph)
    : readers(graph.kernels.size()), inputs(graph.kernels.size()) {
  for (const DataflowTensor& tensor : graph.tensors) {
    for (const DataflowUse& use : tensor.uses) {
      readers[tensor.producer].push_back(use.kernel);
      ++inputs[use.kernel];
    }
  }
}

std::vector<std::uint32_t> order(const Links& links) {
  std::vector<std::uint32_t> waiting = links.inputs;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<std::uint32_t> done;
  while (!ready.empty()) {
    const std::uint32_t kernel = ready.top();
    ready.pop();
    done.push_back(kernel);
    for (const std::uint32_t reader : links.readers[kernel]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  return done;
}

}  // namespace workload::dataflow

std::vector<std::uint32_t> kernel_levels(const DataflowGraph& graph) {
  const dataflow::Links links(graph);
  std::vector<std::uint32_t> levels(graph.kernels.size());
  for (const std::uint32_t kernel : dataflow::order(links)) {
    for (const std::uint32_t reader : links.readers[kernel]) {
      levels[reader] = std::max(levels[reader], levels[kernel] + 1);
    }
  }
  return levels;
}

}  // namespace flopcast
