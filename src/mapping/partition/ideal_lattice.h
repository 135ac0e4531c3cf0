// Floor 5: the order ideals of a graph: sets of kernels that hold the producers of all they hold.
//
// Ideals are what may lie before a cut. They form a lattice; an edge of its Hasse diagram adds one
// kernel. A chain of n kernels has n + 1 ideals, n independent kernels have 2^n.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "mapping/partition/kernel_set.h"

namespace flopcast::mapping {

/// No ideal: where a path has no step before.
inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

struct IdealLattice {
  struct Cover {
    std::uint32_t kernel = 0;  ///< that is added
    std::uint32_t ideal = 0;   ///< what becomes of it
  };
  std::vector<KernelSet> ideals;           ///< by size: 0 is empty, the last holds everything
  std::vector<std::uint32_t> cover_begin;  ///< of ideal i: covers[cover_begin[i] .. [i + 1]]
  std::vector<Cover> covers;

  std::size_t size() const { return ideals.size(); }
  std::span<const Cover> covers_of(std::size_t ideal) const {
    return std::span(covers).subspan(cover_begin[ideal],
                                     cover_begin[ideal + 1] - cover_begin[ideal]);
  }
};

/// @param producers of each kernel, without cycles
/// @param most nothing is returned where there are more ideals than that
std::optional<IdealLattice> ideal_lattice(std::span<const KernelSet> producers, std::size_t most);

/// The ideals along one topological order: a lattice with a single chain.
/// @param depth_first the kernel whose inputs are the freshest goes first; else the first by index
IdealLattice chain_lattice(std::span<const KernelSet> producers, bool depth_first);

}  // namespace flopcast::mapping
