// What the kernels of operators do, from the operator's tensors.
#pragma once

#include <string>
#include <vector>

#include "flopcast/cost.h"
#include "live/engine/pricing/counted_kernels.h"
#include "live/engine/pricing/operator_call.h"
#include "live/engine/pricing/operator_table.h"

namespace flopcast::live {

/// What one kernel of a call does.
struct OperatorWork {
  Kernel kernel;
  double elements = 0;  ///< that it writes
  /// Of one of PyTorch's operators that is not in the table: it moves the operator's tensors. Or its rule had to pass over
  /// values that nobody knows.
  bool assumed = false;
  std::vector<CountedKernel::Part> products = {};  ///< besides `kernel`, which then has the bytes
  bool known =
      true;  ///< false: an extension's operator, and no rule of the table can tell what it does
  std::string lack = {};              ///< why not, where there is a rule
  double behind = 0;                  ///< bytes of its tensors then
  const std::string* rule = nullptr;  ///< the table's pattern that fitted
};
/// @param beside a library call with sizes of its own does the operator's work: what else it launches copies results
OperatorWork work_of(const OperatorCall& call, bool beside,
                     const OperatorTable& table = OperatorTable::builtin());

}  // namespace flopcast::live
