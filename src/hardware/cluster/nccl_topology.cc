#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"
#include "hardware/cluster/nccl_devices.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

constexpr int kDeepestPci = 64;
constexpr std::string_view kNccl = "NCCL 2.30.7 src/graph/topo.h";
constexpr std::string_view kRccl = "RCCL src/graph/topo.h";
constexpr std::string_view kCatalogue =
    "links of the chip's node in the catalogue: the file has none";
constexpr std::string_view kPcieOnly =
    "PCIe: the file names neither links between GPUs nor their chip";
constexpr std::string_view kUsualPort = "the port that fits the PCIe slot: the file has no speed";

/// One node as the XML has it: vertices count from 0, chips hold their place in the node.
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
  std::string_view source = kNccl, port_source = kNccl;  ///< of the rates inside, and of ports
};

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& name, const Catalog& catalog)
      : text_(text), name_(name), catalog_(catalog) {}

  Result<NodeGraph> read() {
    const pugi::xml_parse_result parsed = document_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      return error(static_cast<std::size_t>(parsed.offset), parsed.description(),
                   "correct the XML");
    }
    const pugi::xml_node system = document_.child("system");
    if (!system) {
      return error(0, "expected <system>, the root of an NCCL topology",
                   "dump it with NCCL_TOPO_DUMP_FILE");
    }
    dumped_ = !document_
                   .find_node([](const pugi::xml_node& node) {
                     return node.name() == std::string_view("gpu");
                   })
                   .empty();
    std::vector<std::uint32_t> cpus;
    bool amd = false;
    for (const pugi::xml_node cpu : system.children("cpu")) {
      amd = amd || cpu.attribute("vendor").as_string() == std::string_view("AuthenticAMD");
      cpus.push_back(add_vertex(fmt::format("cpu{}", cpus.size())));
      if (auto failure = read_children(cpu, cpus.back(), 0)) return *failure;
    }
    if (node_.chips == 0) {
      return error(0, "there is no <gpu> in it, nor a <pci> with the class of one (0x03.., 0x12..)",
                   "dump it on a GPU node with NCCL_TOPO_DUMP_FILE");
    }
    // SYS links: AMD 16, Intel since Skylake 10 GB/s.
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      for (std::size_t j = i + 1; j < cpus.size(); ++j)
        join(cpus[i], cpus[j], {amd ? 16e9 : 10e9}, {});
    }
    if (auto failure = join_gpus()) return *failure;
    if (!dumped_) join_as_catalogued();
    return std::move(node_);
  }

 private:
  struct Gpu {
    std::uint32_t vertex = 0;
    pugi::xml_node element;
  };

  /// Files that clouds write for NCCL_TOPO_FILE leave <gpu> and <net> to be found at run time: there
  /// the class of a PCI device is enough.
  PciDevice kind_of(const pugi::xml_node& pci) const {
    const bool named = pci.child("gpu") || pci.child("nic");
    return dumped_ && !named ? PciDevice::kBridge : pci_device(pci);
  }

  Diagnostic error(std::size_t offset, std::string what, std::string hint) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    return {ErrorCode::kBadInput, fmt::format("{}:{}", name_, line), std::move(what),
            std::move(hint)};
  }
  Diagnostic error(const pugi::xml_node& at, std::string what, std::string hint) const {
    return error(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at.offset_debug())),
                 std::move(what), std::move(hint));
  }

  std::uint32_t add_vertex(std::string name) {
    node_.graph.vertices.push_back({std::move(name), -1});
    return static_cast<std::uint32_t>(node_.graph.vertices.size() - 1);
  }
  void join(std::uint32_t a, std::uint32_t b, BytesPerSecond bandwidth, Seconds latency) {
    node_.graph.edges.push_back({a, b, bandwidth, latency});
    node_.graph.edges.push_back({b, a, bandwidth, latency});
  }

  /// "16.0 GT/s PCIe" x "16": 8b/10b coding up to 5 GT/s, 128b/130b above; times what transfers reach.
  BytesPerSecond pcie_bandwidth(const pugi::xml_node& pci) const {
    std::string_view speed = pci.attribute("link_speed").as_string();
    const double hidden = 8;  // as NCCL does where a virtual machine does not tell
    const double transfers = take_number(speed).value_or(hidden);
    const double told = pci.attribute("link_width").as_double();
    const double width = told > 0 ? told : 16;
    const double coding = transfers > 5.01 ? 128.0 / 130.0 : 0.8;
    const Result<Link> known = catalog_.link("pcie3");
    const double efficiency = known ? known->efficiency : 1;
    const double rate = transfers * 1e9 * std::clamp(width, 1.0, 64.0) / 8 * coding * efficiency;
    return {std::clamp(rate, 1e6, 1e13)};
  }

  std::optional<Diagnostic> read_children(const pugi::xml_node& parent, std::uint32_t vertex,
                                          int depth) {
    if (depth > kDeepestPci) return error(parent, "<pci> nested too deeply", "check the file");
    for (const pugi::xml_node pci : parent.children("pci")) {
      const BytesPerSecond bandwidth = pcie_bandwidth(pci);
      std::uint32_t here = 0;
      switch (kind_of(pci)) {
        case PciDevice::kGpu:
          here = add_gpu(pci, bandwidth);
          break;
        case PciDevice::kNic:
          here = add_vertex(fmt::format("nic{}", nics_++));
          if (auto failure = add_ports(pci.child("nic"), here)) return failure;
          if (!pci.child("nic")) add_usual_port(here, bandwidth);
          break;
        default:
          here = add_vertex(fmt::format("pci{}", bridges_++));
      }
      join(vertex, here, bandwidth, {});
      if (auto failure = read_children(pci, here, depth + 1)) return failure;
    }
    for (const pugi::xml_node nic : parent.children("nic")) {
      if (parent.name() == std::string_view("pci")) continue;  // read with its device
      const std::uint32_t here = add_vertex(fmt::format("nic{}", nics_++));
      join(vertex, here, {12.5e9}, {});
      if (auto failure = add_ports(nic, here)) return failure;
    }
    return std::nullopt;
  }

  std::uint32_t add_gpu(const pugi::xml_node& pci, BytesPerSecond bandwidth) {
    const pugi::xml_node gpu = pci.child("gpu");
    const std::uint32_t here = add_vertex(fmt::format("chip{}", node_.chips));
    node_.graph.vertices[here].chip = static_cast<std::int32_t>(node_.chips++);
    if (node_.chips == 1) {
      node_.chip = chip_of(pci);
      if (node_.chip.empty() && gpu)
        node_.chip = fmt::format("sm_{}", gpu.attribute("sm").as_int());
      node_.pcie = bandwidth;
    }
    by_bus_.emplace(pci.attribute("busid").as_string(), here);
    gpus_.push_back({here, gpu});
    return here;
  }

  std::optional<Diagnostic> add_ports(const pugi::xml_node& nic, std::uint32_t vertex) {
    const Result<Link> fabric = catalog_.link("ndr");
    for (const pugi::xml_node net : nic.children("net")) {
      const double megabits = net.attribute("speed").as_double();
      if (!(megabits > 0 && megabits < 1e9)) {
        return error(net, "a network port without a speed", "give speed=\"400000\" (Mb/s)");
      }
      const double latency = net.attribute("latency").as_double() * 1e-6;
      const bool told = latency > 0 && latency < 1;
      node_.ports.push_back({vertex, net.attribute("name").as_string(),
                             BytesPerSecond{megabits * 1e6 / 8} * (fabric ? fabric->efficiency : 1),
                             told || !fabric ? Seconds{latency} : fabric->latency});
    }
    return std::nullopt;
  }

  /// The port that is sold for a slot: as fast a generation of InfiniBand as its PCIe carries.
  void add_usual_port(std::uint32_t vertex, BytesPerSecond pcie) {
    node_.port_source = kUsualPort;
    for (const char* name : {"xdr", "ndr", "hdr", "edr"}) {
      const Result<Link> port = catalog_.link(name);
      const bool last = name == std::string_view("edr");
      if (!port || (!last && port->bandwidth * port->efficiency > pcie)) continue;
      node_.ports.push_back({vertex, "", port->bandwidth * port->efficiency, port->latency});
      return;
    }
  }

  /// Links of one GPU. To another it is joined where the lower of the two names it; a link to anything
  /// else goes to the one vertex that stands for all NVSwitches, or to nothing (CPUs with NVLink).
  std::optional<Diagnostic> join_gpu(const Gpu& gpu) {
    const Result<Link> link = catalog_.link(link_of(gpu.element));
    if (!link) return link.error();
    double to_switch = 0;
    for (const pugi::xml_node child : gpu.element.children()) {
      const std::string_view kind = child.name();
      if (kind != "nvlink" && kind != "xgmi") continue;
      if (kind == "xgmi") node_.source = kRccl;
      const double count = child.attribute("count").as_double(1);
      if (!(count > 0 && count < 1000)) return error(child, "count out of range", "give 1 or more");
      const BytesPerSecond bandwidth = link->bandwidth * (link->efficiency * count);
      const auto target = by_bus_.find(child.attribute("target").as_string());
      if (target != by_bus_.end() && target->second == gpu.vertex) continue;  // a chip alone
      if (gpu.vertex == gpus_.front().vertex) node_.scale_up += bandwidth;
      if (target == by_bus_.end()) {
        to_switch += count;
      } else if (target->second > gpu.vertex) {
        join(gpu.vertex, target->second, bandwidth, link->latency);
      }
    }
    if (to_switch > 0) {
      join_switch(gpu, link->bandwidth * (link->efficiency * to_switch), link->latency / 2);
    }
    return std::nullopt;
  }

  void join_switch(const Gpu& gpu, BytesPerSecond bandwidth, Seconds latency) {
    if (!node_.nvswitch) nvswitch_ = add_vertex("nvswitch");
    node_.nvswitch = true;
    join(gpu.vertex, nvswitch_, bandwidth, latency);
  }

  std::optional<Diagnostic> join_gpus() {
    for (const Gpu& gpu : gpus_) {
      if (auto failure = join_gpu(gpu)) return failure;
    }
    return std::nullopt;
  }

  /// A file that leaves GPUs to be found leaves their links, too: those of the catalogue's node.
  void join_as_catalogued() {
    node_.source = kPcieOnly;
    if (node_.chip.empty() || node_.chips < 2) return;
    const Result<Cluster> usual = catalog_.cluster(fmt::format("{} x {}", node_.chips, node_.chip));
    if (!usual || usual->levels.size() != 1) return;
    const Level& level = usual->levels.front();
    node_.source = kCatalogue;
    node_.scale_up = level.child_bandwidth() * level.efficiency;
    for (const Gpu& gpu : gpus_) join_switch(gpu, node_.scale_up, level.latency / 2);
  }

  std::string_view text_;
  const std::string& name_;
  const Catalog& catalog_;
  pugi::xml_document document_;
  NodeGraph node_;
  std::vector<Gpu> gpus_;
  std::map<std::string, std::uint32_t, std::less<>> by_bus_;
  unsigned nics_ = 0, bridges_ = 0;
  std::uint32_t nvswitch_ = 0;
  bool dumped_ = false;  ///< by NCCL: it names GPUs and ports
};

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
    const std::string_view source = outside ? node.port_source : node.source;
    const bool told = source == kNccl || source == kRccl;
    put_fact(cluster.facts,
             {level.name + ".bandwidth", level.port_bandwidth.value, "B/s",
              fmt::format("{}, {}", name, source), told ? Basis::kFitted : Basis::kAssumed});
  }
}

}  // namespace

Result<Cluster> read_nccl_topology(std::string_view text, const std::string& name, unsigned nodes,
                                   const Catalog& catalog) {
  const Result<NodeGraph> node = XmlReader(text, name, catalog).read();
  if (!node) return node.error();
  constexpr std::uint64_t kMostVertices = 1U << 24;
  if (std::uint64_t{nodes} * node->graph.vertices.size() > kMostVertices) {
    return Diagnostic{ErrorCode::kTooLarge, name, fmt::format("{} nodes are too many", nodes),
                      "use fewer, or a node of the catalogue"};
  }
  if (nodes > 1 && node->ports.empty()) {
    return Diagnostic{ErrorCode::kBadInput, name,
                      "the node has no <net>, so nodes cannot be joined",
                      "dump the topology with the network plugin loaded"};
  }
  Cluster cluster;
  cluster.name = name;
  cluster.chip = chip_or_blank(catalog, node->chip);
  cluster.graph = copies_of(*node, nodes);
  if (auto failure = check_graph(*cluster.graph, name)) return *failure;
  describe(*node, nodes, name, cluster);
  return cluster;
}

}  // namespace flopcast::hardware
