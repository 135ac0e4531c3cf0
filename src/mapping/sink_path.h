// Floor 5: shortest paths where many kernels that nobody reads (weight gradients) make ideals
// explode: n of them ready at once are 2^n ideals, but what is left to do depends only on how many
// of each kind are left, as long as those of a kind cost the same.
//
// Kernels that are read by others form the trunk, with a lattice of its own. A state is an ideal of
// the trunk and, per class of sinks (same work, weights and inputs), how many have run. A partition
// takes trunk kernels and, of the sinks ready by then, some that were left over before (all alike:
// their inputs come from DRAM) and some that became ready in it, grouped by which of their inputs
// it has on chip. Exact for classes of equal sinks whose inputs are theirs alone; where a sink shares
// a tensor or classes differ a little, one program that costs more and one that costs less enclose
// the optimum (see bounded_partitions).
#pragma once

#include <optional>

#include "mapping/partition_path.h"

namespace flopcast::mapping {

struct SinkLimits {
  std::size_t most_ideals = 20'000;     ///< of the trunk
  std::uint64_t most_states = 400'000;  ///< ideals x counts
};

/// The best partitions of a program whose sinks read tensors that nobody else reads. Nothing if none
/// fit; `too_large` is set where the limits were passed.
std::optional<PartitionPath> best_sink_partitions(const ChipProgram& program, unsigned partitions,
                                                  const SinkLimits& limits, bool& too_large);

/// Kernels that no tensor leaves.
KernelSet sinks_of(const ChipProgram& program);

}  // namespace flopcast::mapping
