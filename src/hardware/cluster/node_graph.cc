#include "hardware/cluster/node_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

constexpr std::string_view kUsualPort = "the port that fits the PCIe slot: the file has no speed";

/// Copies of the node, port p of each on rail p, rails on one spine wide enough for all.
FabricGraph copies_of(const NodeGraph& node, unsigned nodes) {
  if (nodes == 1) return node.graph;
  FabricGraph all;
  const auto in_node = static_cast<std::uint32_t>(node.graph.vertices.size());
  for (unsigned n = 0; n < nodes; ++n) {
    for (FabricGraph::Vertex vertex : node.graph.vertices) {
      vertex.name = fmt::format("node{}.{}", n, vertex.name);
      if (vertex.chip >= 0) vertex.chip += static_cast<std::int32_t>(n * node.chips);
      all.vertices.push_back(std::move(vertex));
    }
    for (FabricGraph::Edge edge : node.graph.edges) {
      edge.from += n * in_node;
      edge.to += n * in_node;
      all.edges.push_back(edge);
    }
  }
  const auto join = [&all](std::uint32_t a, std::uint32_t b, BytesPerSecond bandwidth,
                           Seconds latency) {
    all.edges.push_back({a, b, bandwidth, latency});
    all.edges.push_back({b, a, bandwidth, latency});
  };
  const std::uint32_t first_rail = nodes * in_node;
  const auto rails = static_cast<std::uint32_t>(node.ports.size());
  for (std::uint32_t p = 0; p < rails; ++p) {
    all.vertices.push_back({fmt::format("rail{}", p), -1});
    for (unsigned n = 0; n < nodes; ++n) {
      join(n * in_node + node.ports[p].vertex, first_rail + p, node.ports[p].bandwidth,
           node.ports[p].latency / 2);
    }
  }
  if (rails < 2) return all;
  all.vertices.push_back({"spine", -1});
  for (std::uint32_t p = 0; p < rails; ++p) {
    join(first_rail + p, first_rail + rails, node.ports[p].bandwidth * nodes, {});
  }
  return all;
}

/// What closed forms see: NVSwitch, else direct links to all others, else PCIe; and the rails.
void describe(const NodeGraph& node, unsigned nodes, const std::string& name, Cluster& cluster) {
  Level inside;
  inside.name = "node";
  inside.size = node.chips;
  const bool joined = node.scale_up.value > 0;
  inside.port_bandwidth = joined ? node.scale_up : node.pcie;
  inside.transport = !joined                        ? Transport::kPcie
                     : cluster.chip.vendor == "AMD" ? Transport::kXgmi
                                                    : Transport::kNvlink;
  for (const FabricGraph::Edge& edge : node.graph.edges) {
    if (node.graph.vertices[edge.from].chip == 0 && edge.latency.value > 0) {
      inside.latency = edge.latency * (node.nvswitch ? 2 : 1);
    }
  }
  if (joined && !node.nvswitch && node.chips > 1) {
    inside.fabric = FabricKind::kFullyConnected;
    inside.ports = node.chips - 1;
    inside.port_bandwidth = node.scale_up / inside.ports;
  }
  inside.shape = {inside.size};
  cluster.levels = {inside};
  if (nodes > 1) {
    Level rail;
    rail.name = "fabric";
    rail.fabric = FabricKind::kRail;
    rail.transport = Transport::kRdma;
    rail.size = nodes;
    rail.shape = {nodes, 1};
    rail.ports = static_cast<unsigned>(node.ports.size());
    rail.port_bandwidth = node.ports.front().bandwidth;
    rail.latency = node.ports.front().latency;
    cluster.levels.push_back(rail);
  }
  for (const Level& level : cluster.levels) {
    const bool outside = &level != &cluster.levels.front();
    const std::string& source = outside ? node.port_source : node.source;
    const bool told = source == kNcclSource || source == kRcclSource;
    put_fact(cluster.facts,
             {level.name + ".bandwidth", level.port_bandwidth.value, "B/s",
              fmt::format("{}, {}", name, source), told ? Basis::kFitted : Basis::kAssumed});
  }
}

}  // namespace

std::uint32_t NodeGraph::add_vertex(std::string name) {
  graph.vertices.push_back({std::move(name), -1});
  return static_cast<std::uint32_t>(graph.vertices.size() - 1);
}

std::uint32_t NodeGraph::add_chip() {
  const std::uint32_t here = add_vertex(fmt::format("chip{}", chips));
  graph.vertices[here].chip = static_cast<std::int32_t>(chips++);
  return here;
}

void NodeGraph::join(std::uint32_t a, std::uint32_t b, BytesPerSecond bandwidth, Seconds latency) {
  graph.edges.push_back({a, b, bandwidth, latency});
  graph.edges.push_back({b, a, bandwidth, latency});
}

void NodeGraph::add_usual_port(std::uint32_t vertex, BytesPerSecond lanes, const Catalog& catalog) {
  port_source = kUsualPort;
  for (const char* name : {"xdr", "ndr", "hdr", "edr"}) {
    const Result<Link> port = catalog.link(name);
    const bool last = name == std::string_view("edr");
    if (!port || (!last && port->bandwidth * port->efficiency > lanes)) continue;
    ports.push_back({vertex, "", port->bandwidth * port->efficiency, port->latency});
    return;
  }
}

Result<Cluster> cluster_of_nodes(const NodeGraph& node, unsigned nodes, const std::string& name,
                                 const Catalog& catalog) {
  constexpr std::uint64_t kMostVertices = 1U << 24;
  if (std::uint64_t{nodes} * node.graph.vertices.size() > kMostVertices) {
    return Diagnostic{ErrorCode::kTooLarge, name, fmt::format("{} nodes are too many", nodes),
                      "use fewer, or a node of the catalogue"};
  }
  if (nodes > 1 && node.ports.empty()) {
    return Diagnostic{ErrorCode::kBadInput, name,
                      "the node has no network port, so nodes cannot be joined",
                      "dump the topology with the network plugin loaded"};
  }
  Cluster cluster;
  cluster.name = name;
  cluster.chip = chip_or_blank(catalog, node.chip);
  cluster.graph = copies_of(node, nodes);
  if (auto failure = check_graph(*cluster.graph, name)) return *failure;
  describe(node, nodes, name, cluster);
  return cluster;
}

}  // namespace flopcast::hardware
