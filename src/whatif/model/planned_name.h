// What the names of a planned step's tasks say: steps as `flopcast estimate --engine graph` writes
// them, where a pass of a microbatch is one task.
#pragma once

#include <cstdint>
#include <string_view>

namespace flopcast::whatif {

/// What a task of a planned step is.
enum class PlannedTask : std::uint8_t {
  kNone,
  kForward,
  kBackward,  ///< of inputs and weights, or of inputs alone
  kWeights,   ///< gradients of weights apart
  kSend,
  kReceive,  ///< the other end of a send, where one is written
  kGather,
  kReduce,
  kOptimizer,
  kFixed
};

/// A task by its name: "forward m3", "backward input m0 c1", "send backward m2", "optimizer".
struct PlannedName {
  PlannedTask task = PlannedTask::kNone;
  bool backward = false;     ///< a pass of gradients, or a message of one
  bool inputs_only = false;  ///< "backward input"
  std::uint32_t microbatch = 0, chunk = 0;
};
PlannedName planned_name(std::string_view name);

}  // namespace flopcast::whatif
