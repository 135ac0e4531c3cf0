// Shortest ways through an explicit graph, by destination.
//
// The way from s to d has the fewest chips that forward for others, of those the fewest hops, of those
// the least sum of 1 / bandwidth. Of equal next hops one is picked by the place p of the destination
// among the chips of its switch (D-mod-k: p mod n, then p / n at the next choice), or by a hash.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "network/topology/fabric.h"

namespace flopcast::network {

class GraphRouting {
 public:
  struct Arc {
    std::uint32_t from = 0, to = 0;
    double bandwidth = 0;
  };
  /// @param chips the first vertices are chips; each can reach every other one.
  GraphRouting(std::uint32_t vertices, std::uint32_t chips, std::span<const Arc> arcs);
  ~GraphRouting();

  /// Appends arcs. Thread-safe; the costs towards a destination are found when first asked for.
  void route(std::uint32_t from, std::uint32_t to, const WayChoice& choice,
             std::vector<LinkId>& path) const;

 private:
  using Cost = std::uint64_t;
  struct Towards {
    std::once_flag once;
    std::vector<Cost> cost;  ///< of every vertex to this destination
  };
  Cost cost_of(std::uint32_t arc, std::uint32_t destination) const;
  void find_costs(std::uint32_t destination, std::vector<Cost>& cost) const;

  std::uint32_t vertices_, chips_;
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> width_cost_;              ///< per arc
  std::vector<std::uint32_t> out_offsets_, out_arcs_;  ///< arcs by source, then id
  std::vector<std::uint32_t> in_offsets_, in_arcs_;    ///< arcs by target, then id
  std::vector<std::uint32_t> place_;                   ///< per chip
  std::unique_ptr<Towards[]> towards_;
};

}  // namespace flopcast::network
