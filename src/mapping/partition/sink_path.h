// Floor 5: shortest paths where many kernels that nobody reads (weight gradients) make ideals
// explode: n of them ready at once are 2^n ideals, but what is left to do depends only on how many
// of each kind are left, as long as those of a kind cost the same.
//
// Kernels that are read by others form the trunk, with a lattice of its own. A state is an ideal of
// the trunk and, per pool of ready sinks that nothing tells apart (same work, weights and inputs, and
// no trunk kernel still to read those inputs), how many have run. A partition takes trunk kernels and
// some sinks: left over from before, or ready now, grouped by what happens to their inputs (on chip,
// loaded for a trunk kernel anyway, kept in DRAM for the sink alone); of a group those go first whose
// inputs take the least SRAM, since what is left of it is alike again. Exact where no two sinks share a
// tensor; where they do, a program that costs more and one that costs less enclose the optimum
// (see bounded_partitions).
#pragma once

#include <optional>

#include "mapping/partition/path.h"

namespace flopcast::mapping {

struct SinkLimits {
  std::size_t most_ideals = 20'000;     ///< of the trunk
  std::uint64_t most_states = 400'000;  ///< ideals x counts
};

/// The best partitions of a program in which no two sinks read the same tensor. Nothing if none fit;
/// `too_large` is set where the limits were passed.
std::optional<PartitionPath> best_sink_partitions(const ChipProgram& program, unsigned partitions,
                                                  const SinkLimits& limits, bool& too_large);

/// Kernels that no tensor leaves.
KernelSet sinks_of(const ChipProgram& program);

}  // namespace flopcast::mapping
