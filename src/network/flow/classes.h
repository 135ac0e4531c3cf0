// Flows that no symmetry of the network tells apart have one rate: solve one variable for all of
// them. The partition is found by colour refinement (1-dimensional Weisfeiler-Leman): a flow's colour
// is the multiset of its links' colours, a link's its capacity and the multiset of its flows'
// colours, until no link class splits any more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flopcast/network/flows.h"

namespace flopcast::network::flow {

/// Paths of flows, in CSR form.
struct Problem {
  std::span<const Rate> capacities;
  std::span<const std::uint32_t> offsets;
  std::span<const LinkId> links;

  std::size_t flows() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::span<const LinkId> path(std::size_t flow) const {
    return links.subspan(offsets[flow], offsets[flow + 1] - offsets[flow]);
  }
};

struct Partition {
  std::vector<std::uint32_t> flow_class, link_class;
  std::uint32_t flow_classes = 0, link_classes = 0;
};

/// Rates through a partition. If it is not stable, so that they are not the rates of the full solve,
/// solves in full: every flow and link is then a class.
FlowClasses solve_partition(const Problem& problem, Partition partition);

}  // namespace flopcast::network::flow
