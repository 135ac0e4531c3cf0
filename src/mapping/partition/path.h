// Floor 5: the best sequence of partitions: a shortest path through the lattice of ideals.
//
//   f(0, 0) = 0;  f(p, J) = min over ideals I within J of f(p - 1, I) + cost(I, J)
//
// p counts partitions where their number is limited or kernels are pinned; else f(J) is enough.
// Exact: every sequence of partitions that respects the graph is a chain of ideals and the reverse
// (docs/theory/mapping.md). Not looked at are transitions whose weights alone are too many for SRAM,
// and, in large lattices, those from an ideal that no sequence can leave faster than the best one
// known: at first the best along a chain. The result is that, or the first of equal better ones in
// order of ideals.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mapping/partition/chip_program.h"
#include "mapping/partition/ideal_lattice.h"

namespace flopcast::mapping {

/// Which kernels a numbered partition must and must not hold.
struct PartitionRules {
  struct Rule {
    KernelSet must, must_not;
  };
  std::vector<Rule> of;  ///< per partition; those beyond are free but for `pinned`
  KernelSet pinned;      ///< all that must be in a partition of their own number
  bool allow(std::size_t partition, const KernelSet& kernels) const;
  bool empty() const { return of.empty(); }
};

struct PartitionPath {
  double time_s = 0;
  std::vector<KernelSet> partitions;  ///< in order; without empty ones unless they are numbered
  std::uint64_t transitions = 0;      ///< looked at
};

/// The fastest sequence. Nothing if no sequence fits.
/// @param partitions at most so many, 0: any number
std::optional<PartitionPath> best_partitions(const ChipProgram& program,
                                             const IdealLattice& lattice, unsigned partitions,
                                             const PartitionRules& rules = {});

/// Every kernel alone, in topological order by index: what a chip that runs one kernel at a time
/// does. Nothing if one does not fit.
std::optional<PartitionPath> one_by_one(const ChipProgram& program);

/// One partition of everything. Nothing if it does not fit.
std::optional<PartitionPath> all_at_once(const ChipProgram& program);

/// No sequence of partitions is faster than this: each resource's total where nothing but what must
/// crosses DRAM.
double partitions_bound(const ChipProgram& program);

}  // namespace flopcast::mapping
