// What a rule of the table says that an operator or a kernel does: its amounts, worked out.
#pragma once

#include <string>
#include <vector>

#include "live/engine/pricing/counted_kernels.h"
#include "live/engine/pricing/operator_table.h"

namespace flopcast::live {

struct ToldWork {
  double read = 0, written = 0;  ///< bytes
  std::vector<CountedKernel::Part> products;
  bool assumed = false;  ///< an amount stands in for values that are not known
  std::string lack;      ///< "keys: no argument 'k'": nothing is known then
};
/// Bytes as they move without the rule's own amounts; those of attention's keys are the ones that are attended to.
struct Moving {
  double read = 0, written = 0;
};
ToldWork told_work(const OperatorRule& rule, const Facts& facts, const Moving& otherwise);

}  // namespace flopcast::live
