// The operator that a thread is in.
#pragma once

#include <span>
#include <vector>

#include "live/operators/operator.h"

namespace flopcast::live {

/// An operator that has begun and not ended. The tensors are the plug-in's and stay until its end.
struct Operator {
  const char* name = nullptr;
  std::span<const FlopcastTensor> inputs;
};

/// Of this thread; none outside operators.
const Operator* innermost_operator();

}  // namespace flopcast::live
