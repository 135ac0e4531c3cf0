// Who reads whose tensors, kernel by kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/workload/dataflow.h"

namespace flopcast::workload::dataflow {

struct Links {
  /// @pre producers and readers are kernels of the graph
  explicit Links(const DataflowGraph& graph);

  std::vector<std::vector<std::uint32_t>> readers;  ///< of kernel i's tensors
  std::vector<std::uint32_t> inputs;                ///< tensors that kernel i reads
};

/// Producers first, ties by index; kernels on or behind a cycle are left out.
std::vector<std::uint32_t> order(const Links& links);

}  // namespace flopcast::workload::dataflow
