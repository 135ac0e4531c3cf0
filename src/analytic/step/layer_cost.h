// A list of operators priced on one chip: kernel times, and transfers left to be timed once it is
// known where their groups lie.
#pragma once

#include <array>
#include <vector>

#include "analytic/allocator/list_tensors.h"
#include "analytic/step/constants.h"
#include "analytic/step/kernel_times.h"
#include "flopcast/parallel.h"
#include "flopcast/workload/operators.h"

namespace flopcast::analytic {

/// A transfer of one pass, and what may hide it.
struct Sent {
  Transfer transfer;
  unsigned count = 1;
  bool overlappable = true;
  double cover_s = 0;  ///< kernels of the same operator's pass
  double async_s = 0;  ///< kernels of the operator's other backward pass
};

struct PassCost {
  double matrix_s = 0, attention_s = 0, memory_s = 0;
  double launches_s = 0;         ///< host time
  double expert_launches_s = 0;  ///< of it, of experts' kernels
  std::array<double, 5> rests_on_s{};
  std::vector<Sent> sent;
};

struct ListCost {
  PassCost forward, recompute, backward_input, backward_weight;
  ChipWeights weights;
  double saved_bytes = 0;  ///< of a microbatch, from forward to backward
  ListTensors tensors;
};

/// Kernel times of one model on one chip under these constants.
struct Pricing {
  KernelTimes& kernels;
  const Constants& constants;
  Precision precision;
  bool cuda_graph = false;  ///< the host launches a pass of a list at once
};
/// What the list keeps; its passes are still to be priced.
ListCost keep(const OperatorList& list, const Execution& run, const Constants& constants);
/// Prices the passes of this list.
void price(const OperatorList& list, const Pricing& pricing, ListCost& cost);

}  // namespace flopcast::analytic
