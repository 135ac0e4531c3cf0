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
#include "hardware/cluster/node_graph.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

constexpr int kDeepestPci = 64;
constexpr std::string_view kCatalogue =
    "links of the chip's node in the catalogue: the file has none";
constexpr std::string_view kPcieOnly =
    "PCIe: the file names neither links between GPUs nor their chip";

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

  std::uint32_t add_vertex(std::string name) { return node_.add_vertex(std::move(name)); }
  void join(std::uint32_t a, std::uint32_t b, BytesPerSecond bandwidth, Seconds latency) {
    node_.join(a, b, bandwidth, latency);
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
          if (!pci.child("nic")) node_.add_usual_port(here, bandwidth, catalog_);
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
    const std::uint32_t here = node_.add_chip();
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

  /// Links of one GPU. To another it is joined where the lower of the two names it; a link to anything
  /// else goes to the one vertex that stands for all NVSwitches, or to nothing (CPUs with NVLink).
  std::optional<Diagnostic> join_gpu(const Gpu& gpu) {
    const Result<Link> link = catalog_.link(link_of(gpu.element));
    if (!link) return link.error();
    double to_switch = 0;
    for (const pugi::xml_node child : gpu.element.children()) {
      const std::string_view kind = child.name();
      if (kind != "nvlink" && kind != "xgmi") continue;
      if (kind == "xgmi") node_.source = kRcclSource;
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

}  // namespace

Result<Cluster> read_nccl_topology(std::string_view text, const std::string& name, unsigned nodes,
                                   const Catalog& catalog) {
  const Result<NodeGraph> node = XmlReader(text, name, catalog).read();
  if (!node) return node.error();
  return cluster_of_nodes(*node, nodes, name, catalog);
}

}  // namespace flopcast::hardware
