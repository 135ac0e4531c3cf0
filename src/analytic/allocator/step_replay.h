// A training step of one chip played on the allocator of its device memory: what it needs at once, and what is reserved for that.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/allocator/list_tensors.h"

namespace flopcast::analytic {

/// What a chip runs for one microbatch. Lists outlive the replay.
struct ChipTape {
  const ListTensors* embedding = nullptr;  ///< null: on another chip
  std::vector<const ListTensors*> layers;  ///< in the order of forward
  const ListTensors* head = nullptr;       ///< null: on another chip
  std::int64_t boundary = 0;               ///< B of what stages hand on
};

struct StepPlay {
  unsigned in_flight = 1;  ///< microbatches between forward and backward
  bool ends_fly = true;    ///< embedding and head keep those of each; false: the last one's alone
  bool expandable = false;
  /// FSDP: weights are gathered list by list, ends as one group for the whole step; gradients are reduced behind the list after.
  bool sharded = false;
  bool reshard = true;  ///< layers' weights are dropped after forward, but for the last layer's
  double reduced_bytes = 4;  ///< of a gradient while it is reduced
};

struct StepPeak {
  std::int64_t allocated =
      0;  ///< B at the fullest moment: kept tensors, working ones, gathered weights
  std::int64_t reserved = 0;  ///< B that the allocator has of the device at the end
};

/// Two steps: what the first one leaves in the cache the second one finds. What is allocated once and for all (weights, gradients,
/// optimiser) is not part of it.
StepPeak replay_step(const ChipTape& chip, const StepPlay& play);
/// Never more than is allocated then, and quicker to tell: the tensors of one step, wherever they lie.
std::int64_t count_step(const ChipTape& chip, const StepPlay& play);

}  // namespace flopcast::analytic
