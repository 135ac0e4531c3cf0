// What a topology is made of: levels of alike groups, or an explicit graph.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flopcast/network.h"
#include "network/topology/divisor.h"
#include "network/topology/fabric.h"
#include "network/topology/routing_graph.h"
#include "network/topology/spare_counts.h"

namespace flopcast {
namespace network {

/// One level of all groups. Where chips share a plane, a port stands between them and the fabric.
struct LevelNet {
  std::unique_ptr<LevelFabric> fabric;  ///< none where there is one child only
  std::string name;
  Divisor child_chips;        ///< chips of one child
  Divisor group_chips;        ///< of one group
  Divisor children;           ///< of one group
  std::uint32_t planes = 1;   ///< of a child
  bool shared_ports = false;  ///< fewer planes than chips in a child
  bool joins_planes = false;  ///< a way leads from every plane to every other
  LinkId first_link = 0;      ///< of group 0
  std::uint32_t group_links = 0;
  std::uint32_t first_vertex = 0;  ///< ports of group 0, if shared, then its switches
  std::uint32_t group_vertices = 0;

  std::uint32_t plane_of(std::uint32_t chip_of_child) const {
    if (!shared_ports) return chip_of_child;
    return static_cast<std::uint32_t>(std::uint64_t{chip_of_child} * planes / child_chips);
  }
  std::uint32_t endpoint_of(std::uint32_t chip_of_group) const {
    const std::uint32_t child = chip_of_group / child_chips;
    return child * planes + plane_of(chip_of_group - child * child_chips);
  }
  /// Links between chips and shared ports, of one group.
  std::uint32_t port_links() const { return shared_ports ? 2 * group_chips : 0; }
};

}  // namespace network

struct Topology::State {
  std::uint32_t chips = 0, vertices = 0, chips_per_node = 1;
  RoutingOptions options;
  std::vector<LinkInfo> links;
  // Paths are priced from these: far smaller than the links. Empty where there are too many latencies.
  std::vector<std::uint8_t> latency_class;  // by link
  std::vector<Time> latencies;              // by class
  std::vector<network::LevelNet> levels;
  std::unique_ptr<network::GraphRouting> graph;
  std::vector<std::string> graph_names;
  mutable network::SpareCounts spare_counts;  ///< by link

  class CrossingCounter;

  std::optional<Diagnostic> add_level(const Level& level, std::uint16_t index);
  void add_links(const network::LevelNet& net, const Level& level, std::uint16_t index);
  void add_graph(const Cluster& cluster);
  void classify_latencies();
  /// Appends the way of a message.
  void route(std::uint32_t src, std::uint32_t dst, std::uint64_t flow,
             std::vector<LinkId>& path) const;
  void route_over(std::uint32_t src, std::uint32_t dst, const network::WayChoice& choice,
                  std::size_t below, std::vector<LinkId>& path) const;
  Time latency(std::span<const LinkId> path) const;
  std::string level_vertex_name(std::uint32_t vertex) const;
};

}  // namespace flopcast
