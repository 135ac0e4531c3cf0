// What the kernels of PyTorch's operators do, from the operator's tensors.
#pragma once

#include "flopcast/cost.h"
#include "live/engine/pricing/operator_call.h"

namespace flopcast::live {

/// What one kernel of a call does.
struct OperatorWork {
  Kernel kernel;
  double elements = 0;  ///< that it writes
  /// Of an operator that is not in the table: it moves the operator's tensors.
  bool assumed = false;
};
/// @param beside a library call with sizes of its own does the operator's work: what else it launches copies results
OperatorWork work_of(const OperatorCall& call, bool beside);

}  // namespace flopcast::live
