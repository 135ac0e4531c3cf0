// What is registered in place of PyTorch's own kernel of an operator.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

class Wrapped : public c10::OperatorKernel {
 public:
  explicit Wrapped(Operator what) : what_(std::move(what)) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Values* stack);

 private:
  const Operator what_;
};

}  // namespace flopcast::plugin
