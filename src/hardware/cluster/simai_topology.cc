#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/numbers.h"
#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/cluster/text_lines.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

class SimaiReader {
 public:
  SimaiReader(std::string_view text, const std::string& name)
      : lines_(text), most_nodes_(text.size()), name_(name) {}

  Result<Cluster> read(const Catalog& catalog) {
    if (auto failure = read_header()) return *failure;
    if (auto failure = read_switches()) return *failure;
    while (lines_.next()) {
      if (auto failure = read_link()) return *failure;
    }
    if (graph_.edges.size() != 2 * std::size_t{header_[kLinks]}) {
      return error(fmt::format("the first line announces {} links, there are {}", header_[kLinks],
                               graph_.edges.size() / 2),
                   "correct the fifth number of the first line");
    }
    if (auto failure = check_graph(graph_, name_)) return *failure;
    Cluster cluster;
    cluster.name = name_;
    cluster.chip = chip_or_blank(catalog, chip_);
    describe(cluster);
    cluster.graph = std::move(graph_);
    return cluster;
  }

 private:
  enum Field : std::size_t { kNodes, kPerServer, kNvSwitches, kSwitches, kLinks };

  Diagnostic error(std::string what, std::string hint) const {
    return {ErrorCode::kBadInput, fmt::format("{}:{}", name_, lines_.number()), std::move(what),
            std::move(hint)};
  }

  std::optional<Diagnostic> read_header() {
    lines_.next();
    const std::vector<std::string_view> words = lines_.words();
    bool valid = words.size() == 5 || words.size() == 6;
    for (std::size_t i = 0; valid && i < header_.size(); ++i) {
      const auto value = parse_whole<std::uint32_t>(words[i]);
      valid = value.has_value() && (i != kNodes || *value <= most_nodes_);
      if (valid) header_[i] = *value;
    }
    const std::uint64_t switches = std::uint64_t{header_[kNvSwitches]} + header_[kSwitches];
    if (!valid || switches >= header_[kNodes]) {
      return error(
          "expected a SimAI topology: 'nodes gpus-per-server nv-switches switches links "
          "gpu-type'",
          "give a .toml, .yml, .xml or SimAI file");
    }
    if (words.size() == 6) chip_ = words[5];
    chips_ = header_[kNodes] - static_cast<std::uint32_t>(switches);
    if (header_[kPerServer] == 0 || chips_ % header_[kPerServer] != 0) {
      return error(fmt::format("{} GPUs do not fill servers of {}", chips_, header_[kPerServer]),
                   "correct the first line");
    }
    return std::nullopt;
  }

  /// GPUs are the nodes that are not listed; the first of the switches listed are NVSwitches.
  std::optional<Diagnostic> read_switches() {
    graph_.vertices.resize(header_[kNodes]);
    lines_.next();
    std::uint32_t listed = 0;
    for (const std::string_view word : lines_.words()) {
      const auto id = parse_whole<std::uint32_t>(word);
      if (!id || *id >= header_[kNodes] || !graph_.vertices[*id].name.empty()) {
        return error(fmt::format("expected the id of a switch, found '{}'", word),
                     fmt::format("ids are below {} and listed once", header_[kNodes]));
      }
      graph_.vertices[*id].name = listed < header_[kNvSwitches] ? fmt::format("nvswitch{}", listed)
                                                                : fmt::format("switch{}", *id);
      ++listed;
    }
    if (listed != header_[kNodes] - chips_) {
      return error(fmt::format("{} switches are listed, the first line has {}", listed,
                               header_[kNodes] - chips_),
                   "list every switch in the second line");
    }
    std::int32_t rank = 0;
    for (FabricGraph::Vertex& vertex : graph_.vertices) {
      if (!vertex.name.empty()) continue;
      const auto server = static_cast<std::int32_t>(header_[kPerServer]);
      vertex.name = fmt::format("node{}.chip{}", rank / server, rank % server);
      vertex.chip = rank++;
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> read_link() {
    const std::vector<std::string_view> words = lines_.words();
    if (words.empty()) return std::nullopt;
    if (words.size() < 4) {
      return error(fmt::format("expected a link, found '{}'", trim(lines_.line())),
                   "write it like '0 16 400Gbps 0.0005ms 0'");
    }
    const auto from = parse_whole<std::uint32_t>(words[0]),
               to = parse_whole<std::uint32_t>(words[1]);
    if (!from || !to || *from >= header_[kNodes] || *to >= header_[kNodes] || *from == *to) {
      return error(fmt::format("a link from '{}' to '{}'", words[0], words[1]),
                   fmt::format("its ends are two nodes below {}", header_[kNodes]));
    }
    const Result<BytesPerSecond> bandwidth = parse_bandwidth(words[2]);
    if (!bandwidth) return error(bandwidth.error().what, bandwidth.error().hint);
    const Result<Seconds> latency = parse_seconds(words[3]);
    if (!latency) return error(latency.error().what, latency.error().hint);
    graph_.edges.push_back({*from, *to, *bandwidth, *latency});
    graph_.edges.push_back({*to, *from, *bandwidth, *latency});
    return std::nullopt;
  }

  /// The levels that closed forms need, from the links of the first server.
  void describe(Cluster& cluster) const {
    Level node, fabric;
    node.name = "node";
    node.transport = Transport::kNvlink;
    fabric.name = "fabric";
    fabric.transport = Transport::kRdma;
    node.size = header_[kPerServer];
    fabric.size = chips_ / header_[kPerServer];
    fabric.ports = 0;
    std::vector<std::uint32_t> leaves;
    for (const FabricGraph::Edge& edge : graph_.edges) {
      const std::int32_t rank = graph_.vertices[edge.from].chip;
      if (rank < 0 || static_cast<std::uint32_t>(rank) >= node.size) continue;
      if (graph_.vertices[edge.to].name.starts_with("nvswitch")) {
        if (rank == 0) node.port_bandwidth += edge.bandwidth;
        node.latency = edge.latency * 2;
      } else {
        fabric.port_bandwidth = edge.bandwidth;
        fabric.latency = edge.latency * 2;
        ++fabric.ports;
        leaves.push_back(edge.to);
      }
    }
    std::sort(leaves.begin(), leaves.end());
    const bool own_leaves = std::adjacent_find(leaves.begin(), leaves.end()) == leaves.end();
    fabric.fabric = own_leaves && node.size > 1 ? FabricKind::kRail : FabricKind::kFatTree;
    fabric.ports = std::max(1U, fabric.ports);
    // Where a server has no NVSwitch, or nothing else, the one stands for the other.
    if (node.port_bandwidth.value <= 0) {
      node.port_bandwidth = fabric.port_bandwidth;
      node.latency = fabric.latency;
    }
    if (fabric.port_bandwidth.value <= 0) {
      fabric.port_bandwidth = node.port_bandwidth;
      fabric.latency = node.latency;
    }
    node.shape = {node.size};
    fabric.shape = {fabric.size, 1};
    cluster.levels = {node};
    if (fabric.size > 1) cluster.levels.push_back(fabric);
    for (Level& level : cluster.levels) {
      put_fact(cluster.facts, {level.name + ".bandwidth", level.port_bandwidth.value, "B/s", name_,
                               Basis::kAssumed});
      put_fact(cluster.facts,
               {level.name + ".latency", level.latency.value, "s", name_, Basis::kAssumed});
    }
  }

  TextLines lines_;
  std::size_t most_nodes_;  ///< every node is on some line
  const std::string& name_;
  std::array<std::uint32_t, 5> header_{};
  std::string_view chip_;
  std::uint32_t chips_ = 0;
  FabricGraph graph_;
};

}  // namespace

Result<Cluster> read_simai_topology(std::string_view text, const std::string& name,
                                    const Catalog& catalog) {
  return SimaiReader(text, name).read(catalog);
}

}  // namespace flopcast::hardware
