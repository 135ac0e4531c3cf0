// Kernels first, then who reads whose output: a kernel's output becomes a tensor when it is read for
// the first time, so what nobody reads is no tensor.
//
//   DataflowBuilder builder("two");
//   const auto a = builder.add({.name = "a", .m = 8, .n = 4}, Bytes{64});
//   const auto b = builder.add({.name = "b", .m = 8, .n = 4}, Bytes{64});
//   builder.feed(a, b, Operand::kPointwise);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flopcast/workload/dataflow.h"

namespace flopcast::workload {

class DataflowBuilder {
 public:
  explicit DataflowBuilder(std::string name) { graph_.name = std::move(name); }

  /// @return its index
  std::uint32_t add(DataflowKernel kernel, Bytes output);
  /// @pre both were added, and `to` does not read `from` yet
  void feed(std::uint32_t from, std::uint32_t to, Operand operand);
  /// The output leaves the graph: a tensor whether or not somebody reads it.
  void leave(std::uint32_t kernel);
  /// Tensors in the order of their producers.
  DataflowGraph finish();

 private:
  static constexpr std::uint32_t kNoTensor = ~std::uint32_t{0};

  DataflowTensor& tensor_of(std::uint32_t kernel);

  DataflowGraph graph_;
  std::vector<Bytes> outputs_;          // of kernel i
  std::vector<std::uint32_t> tensors_;  // of kernel i: its tensor
};

}  // namespace flopcast::workload
