// Floor 5: partitions of graphs with too many ideals for a shortest path over all of them, and a
// bound that says how far off they can be.
//
// First the sinks: two programs enclose the real one. In the dear one sinks that share a tensor with
// each other read copies of it; in the cheap one what they share costs nothing. Both are solved exactly
// (sink_path.h): the dear one's partitions are good in the real program, the cheap one's time is a
// bound. They are the same where no two sinks share a tensor. If even that is too large: the best cuts of a few topological orders, and
// the bound of resources.
#pragma once

#include <optional>

#include "mapping/partition/path.h"

namespace flopcast::mapping {

struct BoundedPath {
  std::optional<PartitionPath> path;
  double bound_s = 0;  ///< no partitions are faster
};
/// @param gap relative: no better answer is looked for
BoundedPath bounded_partitions(const ChipProgram& program, unsigned partitions, double gap);

}  // namespace flopcast::mapping
