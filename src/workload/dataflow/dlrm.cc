// Deep-learning recommendation: two stacks of equal layers, with the pooled embeddings between them.
#include <fmt/format.h>

#include <algorithm>

#include "workload/dataflow/builder.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

using Id = std::uint32_t;

class DlrmBuilder {
 public:
  DlrmBuilder(std::string name, const DlrmShape& shape)
      : builder_(std::move(name)), shape_(shape), layers_(shape.bottom + shape.top) {}

  void forward();
  void backward();
  void leave() { builder_.leave(forward_.back()); }
  DataflowGraph finish() { return builder_.finish(); }

 private:
  double width() const { return static_cast<double>(shape_.mlp); }
  Bytes activation() const { return {width() * shape_.word}; }
  Bytes matrix() const { return {width() * width() * shape_.word}; }
  DataflowKernel layer(std::int64_t number, bool backward) const;
  void gradient(std::int64_t number);

  DataflowBuilder builder_;
  const DlrmShape shape_;
  const std::int64_t layers_;
  std::vector<Id> forward_;   // of layers 1, 2, ...
  std::vector<Id> backward_;  // of layers n, n - 1, ...
};

/// Layers count from 1. The last of the bottom stack waits for the pooled rows of all tables, and
/// backwards their gradients go the same way.
DataflowKernel DlrmBuilder::layer(std::int64_t number, bool backward) const {
  DataflowKernel kernel;
  kernel.name = fmt::format("mlp_{}{}", number, backward ? "_bwd" : "");
  kernel.kind = DataflowKind::kGemm;
  kernel.backward = backward;
  kernel.m = kernel.k = shape_.mlp;
  kernel.weight = matrix();
  if (number == std::max<std::int64_t>(shape_.bottom, 1)) {
    kernel.traffic = {static_cast<double>(shape_.tables * shape_.pooled_rows * shape_.embedding) *
                      shape_.word};
    kernel.transfers = {{DataflowTransferKind::kAllToAll, kernel.traffic}};
  }
  return kernel;
}

void DlrmBuilder::forward() {
  for (std::int64_t number = 1; number <= layers_; ++number) {
    const Id id = builder_.add(layer(number, false), activation());
    if (number > 1) builder_.feed(forward_.back(), id, Operand::kRight);
    forward_.push_back(id);
  }
}

/// Reads the layer's input and the gradient of its output; neither is in the graph of the first
/// layer's input and the last layer's output.
void DlrmBuilder::gradient(std::int64_t number) {
  DataflowKernel kernel;
  kernel.name = fmt::format("mlp_{}_grad", number);
  kernel.kind = DataflowKind::kGemm;
  kernel.backward = true;
  kernel.m = kernel.n = shape_.mlp;
  kernel.k = 1;
  kernel.gradient = matrix();
  kernel.batch = KernelDimension::kK;
  const Id id = builder_.add(std::move(kernel), {});
  const auto above = static_cast<std::size_t>(layers_ - number);  // layers between it and the loss
  if (above > 0) builder_.feed(backward_[above - 1], id, Operand::kLeftT);
  if (number > 1) {
    builder_.feed(forward_[static_cast<std::size_t>(number - 2)], id, Operand::kRightT);
  }
}

void DlrmBuilder::backward() {
  for (std::int64_t number = layers_; number >= 1; --number) {
    const Id id = builder_.add(layer(number, true), activation());
    if (number < layers_) builder_.feed(backward_.back(), id, Operand::kRight);
    backward_.push_back(id);
  }
  for (std::int64_t number = layers_; number >= 1; --number) gradient(number);
}

}  // namespace

DataflowGraph dlrm_forward(const DlrmShape& shape) {
  DlrmBuilder dlrm("dlrm_forward", shape);
  dlrm.forward();
  dlrm.leave();
  return dlrm.finish();
}

DataflowGraph dlrm_training(const DlrmShape& shape) {
  DlrmBuilder dlrm("dlrm_training", shape);
  dlrm.forward();
  dlrm.backward();
  return dlrm.finish();
}

}  // namespace flopcast
