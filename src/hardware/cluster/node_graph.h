// The inside of one node as other tools tell it, and clusters of copies of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

inline constexpr std::string_view kNcclSource = "NCCL 2.30.7 src/graph/topo.h";
inline constexpr std::string_view kRcclSource = "RCCL src/graph/topo.h";

/// Vertices count from 0, chips hold their place in the node.
struct NodeGraph {
  FabricGraph graph;
  struct Port {
    std::uint32_t vertex = 0;
    std::string name;
    BytesPerSecond bandwidth;
    Seconds latency;
  };
  std::vector<Port> ports;
  std::uint32_t chips = 0;
  std::string chip;               ///< "sm_80", or a name of the catalogue; empty: not told
  BytesPerSecond scale_up, pcie;  ///< of the first chip, all its links together
  bool nvswitch = false;
  /// of the rates inside, and of ports
  std::string source{kNcclSource}, port_source{kNcclSource};

  std::uint32_t add_vertex(std::string name);
  std::uint32_t add_chip();
  /// In both directions.
  void join(std::uint32_t a, std::uint32_t b, BytesPerSecond bandwidth, Seconds latency);
  /// The port that is sold for a slot: as fast a generation of InfiniBand as its PCIe carries.
  void add_usual_port(std::uint32_t vertex, BytesPerSecond pcie, const Catalog& catalog);
};

/// The node `nodes` times, port p of each on rail p, rails on one spine. Errors: no port where nodes are several; what
/// check_graph finds.
Result<Cluster> cluster_of_nodes(const NodeGraph& node, unsigned nodes, const std::string& name,
                                 const Catalog& catalog);

}  // namespace flopcast::hardware
