// What a list of operators asks of the allocator of device memory: its tensors in the order in which a framework makes and drops
// them, forward and backward.
//
// An operator's steps each make a tensor, and drop that of the step before. What an operator keeps for backward is the output of
// the operator before it where that has the size, else a tensor of its own (statistics, masks, narrow copies). The stream around
// the blocks lives from sum to sum. Backward runs again what is recomputed, then walks back: gradients of inputs take the place
// of those of outputs, and what was kept is dropped where its operator is done.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/workload/operators.h"

namespace flopcast::analytic {

struct TensorCall {
  std::uint16_t tensor = 0;  ///< of the list's table
  bool weight = false;       ///< a gradient of weights: only where none are kept for the whole step
  std::int64_t bytes = 0;    ///< to allocate; 0: free
};

struct ListTensors {
  static constexpr std::uint16_t kInput = 0;     ///< forward's, given by the list before
  static constexpr std::uint16_t kGradient = 1;  ///< of the output, given by the list after
  static constexpr std::uint16_t kNone = 0xFFFF;

  std::vector<TensorCall> forward, backward;
  std::uint16_t tensors = 2;             ///< how many there are
  std::uint16_t output = kNone;          ///< of forward, for the next list to own
  std::uint16_t input_gradient = kNone;  ///< of backward, for the list before to own
  std::vector<std::int64_t> weights;     ///< B of each operator's that has any, in 16 or 32 bits
  std::int64_t weight_bytes = 0;         ///< the sum
  std::int64_t trained = 0;              ///< values with gradients
  std::vector<std::uint16_t> weight_gradients;  ///< tensors, dropped when they have been reduced
};

/// @param logit_bytes B a logit while the loss is differentiated: up to 6 as 16-bit logits and one wider copy, beyond that as eager
/// PyTorch's cross entropy does: fp32 logits, log-probabilities, two gradients of these.
ListTensors tensors_of(const OperatorList& list, const Execution& run, double logit_bytes);

}  // namespace flopcast::analytic
