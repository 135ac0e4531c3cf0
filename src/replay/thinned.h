// A graph with fewer tasks for runs of which few times are wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// Host time before each task that is left, and of all together, as if the host were faster.
struct HostTime {
  std::vector<Time> gap;  ///< as Graph::gap
  Time work;              ///< of the gaps and of the tasks that were left out, before
};

/// Leaves out the host tasks that only the order of their thread ties to others: their time goes into
/// the gap of the task after them, so that all others run as before. What is left keeps its order.
/// @param wanted tasks that stay; @param part of each task, Parts::kHostPart of what `faster` shortens
/// @param faster the time that host work takes instead
HostTime thin(Assembly& assembly, const std::vector<bool>& wanted, std::vector<std::uint32_t>& part,
              Time (*faster)(Time));

}  // namespace flopcast::replaying
