// `nvidia-smi topo -m`: a matrix of what lies between GPUs and network cards of one node.
//
//   X  itself     NV#  that many NVLinks     PIX  one PCIe switch     PXB  several
//   PHB  the CPU's own PCIe     NODE  a NUMA node's PCIe     SYS  between NUMA nodes
//
// Where the links of a GPU add up to more than any chip has, they go to NVSwitches. Lines of `nvidia-smi -L` in the same
// text name the chip.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text/numbers.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/cluster/node_graph.h"
#include "hardware/cluster/text_lines.h"

namespace flopcast::hardware {
namespace {

/// What lies between two devices, the nearest first.
enum class Between : std::uint8_t { kSelf, kNvlink, kSwitch, kSwitches, kCpu, kNuma, kSystem };

struct Relation {
  Between between = Between::kSystem;
  unsigned links = 0;  ///< of NVLink
};

std::optional<Relation> relation_of(std::string_view cell) {
  if (cell == "X") return Relation{Between::kSelf, 0};
  if (cell == "PIX") return Relation{Between::kSwitch, 0};
  if (cell == "PXB") return Relation{Between::kSwitches, 0};
  if (cell == "PHB") return Relation{Between::kCpu, 0};
  if (cell == "NODE") return Relation{Between::kNuma, 0};
  if (cell == "SYS" || cell == "SOC") return Relation{Between::kSystem, 0};
  constexpr unsigned kMostLinks = 144;
  if (!cell.starts_with("NV")) return std::nullopt;
  const auto links = parse_whole<unsigned>(cell.substr(2));
  if (!links || *links == 0 || *links > kMostLinks) return std::nullopt;
  return Relation{Between::kNvlink, *links};
}

/// A generation of NVLink: whose chips, and how many links the largest of them has.
struct LinkGeneration {
  std::string_view architecture, link;
  unsigned most;
};
constexpr std::array kGenerations = {
    LinkGeneration{"pascal", "nvlink1", 4},     LinkGeneration{"volta", "nvlink2", 6},
    LinkGeneration{"ampere", "nvlink3", 12},    LinkGeneration{"hopper", "nvlink4", 18},
    LinkGeneration{"blackwell", "nvlink5", 18}, LinkGeneration{"blackwell-ultra", "nvlink5", 18}};

/// Without escapes that colour a terminal.
std::string plain_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm' && text[i] != '\n') ++i;
  }
  return out;
}

bool is_gpu_name(std::string_view word) {
  return word.starts_with("GPU") && parse_whole<unsigned>(word.substr(3)).has_value();
}

class SmiReader {
 public:
  SmiReader(std::string_view text, const std::string& name, std::string_view chip,
            const Catalog& catalog)
      : text_(plain_text(text)), name_(name), chip_(chip), catalog_(catalog) {}

  Result<NodeGraph> read() {
    if (auto failure = read_matrix()) return *failure;
    if (auto failure = check_matrix()) return *failure;
    build();
    if (auto failure = join_links()) return *failure;
    return std::move(node_);
  }

 private:
  using Failure = std::optional<Diagnostic>;

  struct Device {
    std::string name;
    bool gpu = false;
    std::vector<Relation> to;  ///< every device, in order
  };

  Diagnostic error(std::size_t line, std::string what, std::string hint) const {
    return {ErrorCode::kBadInput, fmt::format("{}:{}", name_, line), std::move(what),
            std::move(hint)};
  }

  Failure read_matrix() {
    TextLines lines(text_);
    std::vector<std::string> columns;
    while (lines.next()) {
      const std::vector<std::string_view> words = lines.words();
      if (words.empty()) continue;
      read_chip(lines.line());
      if (columns.empty()) {
        if (is_gpu_name(words[0])) columns = names_in(words), header_ = lines.number();
        continue;
      }
      const auto known = std::ranges::find(columns, words[0]);
      if (known == columns.end() || words.size() <= columns.size()) continue;
      if (auto failure = read_row(words, columns.size(), lines.number())) return failure;
      if (devices_.size() == columns.size()) break;
    }
    if (devices_.size() == columns.size() && !columns.empty()) return std::nullopt;
    return error(
        header_,
        fmt::format("the matrix names {} devices and has {} rows", columns.size(), devices_.size()),
        "give all that `nvidia-smi topo -m` prints");
  }

  /// "GPU0 GPU1 NIC0 CPU Affinity ...": devices up to the affinities.
  static std::vector<std::string> names_in(const std::vector<std::string_view>& words) {
    std::vector<std::string> names;
    for (const std::string_view word : words) {
      if (word == "CPU" || word == "NUMA") break;
      names.emplace_back(word);
    }
    return names;
  }

  /// "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)", as `nvidia-smi -L` has it.
  void read_chip(std::string_view line) {
    if (!chip_.empty() || !trim(line).starts_with("GPU ")) return;
    const std::size_t colon = line.find(": "), bracket = line.find(" (UUID");
    if (colon == line.npos || bracket == line.npos || bracket < colon) return;
    chip_ = trim(line.substr(colon + 2, bracket - colon - 2));
  }

  Failure read_row(const std::vector<std::string_view>& words, std::size_t columns,
                   std::size_t line) {
    Device device{std::string(words[0]), is_gpu_name(words[0]), {}};
    for (std::size_t i = 1; i <= columns; ++i) {
      const std::optional<Relation> relation = relation_of(words[i]);
      if (!relation) {
        return error(line, fmt::format("'{}' is no connection", words[i]),
                     "X, NV#, PIX, PXB, PHB, NODE or SYS");
      }
      device.to.push_back(*relation);
    }
    devices_.push_back(std::move(device));
    return std::nullopt;
  }

  Failure check_matrix() const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      for (std::size_t j = 0; j < devices_.size(); ++j) {
        const Relation &there = devices_[i].to[j], &back = devices_[j].to[i];
        const bool self = (there.between == Between::kSelf) == (i == j);
        if (self && there.between == back.between && there.links == back.links) continue;
        return error(
            header_,
            fmt::format("{} and {} are joined in two ways", devices_[i].name, devices_[j].name),
            "give the matrix as it was printed");
      }
    }
    return std::nullopt;
  }

  /// Devices nearer than `limit` to each other, as the first of them.
  std::vector<std::size_t> groups_below(Between limit) const {
    std::vector<std::size_t> group(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      group[i] = i;
      for (std::size_t j = 0; j < i; ++j) {
        const Between between = devices_[i].to[j].between;
        if (between != Between::kNvlink && between <= limit) {
          group[i] = group[j];
          break;
        }
      }
    }
    return group;
  }

  void build() {
    const Result<Chip> chip = catalog_.chip(chip_);
    const Result<Link> pcie = catalog_.link("pcie3");
    const Result<Link> newer = catalog_.link("pcie5");
    const double efficiency = pcie ? pcie->efficiency : 1;
    const BytesPerSecond slot = chip && chip->host_bandwidth.value > 0 ? chip->host_bandwidth
                                : newer                                ? newer->bandwidth
                                                                       : BytesPerSecond{32e9};
    node_.pcie = {std::min(slot.value, 64e9) * efficiency};
    node_.chip = chip ? chip->name : std::string(chip_);
    node_.source = "`nvidia-smi topo -m`, which tells no rates: those of the chip's generation";
    const std::vector<std::size_t> switches = groups_below(Between::kSwitches);
    const std::vector<std::size_t> cpus = groups_below(Between::kNuma);
    std::map<std::size_t, std::uint32_t> cpu_of, switch_of;
    for (const std::size_t group : cpus) {
      if (cpu_of.contains(group)) continue;
      const std::uint32_t here = node_.add_vertex(fmt::format("cpu{}", cpu_of.size()));
      for (const auto& [other, vertex] : cpu_of) node_.join(vertex, here, {10e9}, {});
      cpu_of[group] = here;
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const auto alike = std::ranges::count(switches, switches[i]);
      std::uint32_t above = cpu_of[cpus[i]];
      if (alike > 1) {
        if (!switch_of.contains(switches[i])) {
          const std::uint32_t here = node_.add_vertex(fmt::format("pci{}", switch_of.size()));
          node_.join(above, here, node_.pcie, {});
          switch_of[switches[i]] = here;
        }
        above = switch_of[switches[i]];
      }
      add_device(devices_[i], above);
    }
  }

  void add_device(const Device& device, std::uint32_t above) {
    const std::uint32_t here = device.gpu ? node_.add_chip() : node_.add_vertex(device.name);
    node_.join(above, here, node_.pcie, {});
    vertices_.push_back(here);
    if (!device.gpu) node_.add_usual_port(here, node_.pcie, catalog_);
  }

  /// By the chip's architecture; without a chip by how many links there are, which tells the generation of most.
  const LinkGeneration& generation(unsigned most) const {
    const Result<Chip> chip = catalog_.chip(chip_);
    if (chip) {
      for (const LinkGeneration& known : kGenerations) {
        if (chip->architecture == known.architecture) return known;
      }
    }
    constexpr std::size_t kVolta = 1, kAmpere = 2, kHopper = 3;
    return kGenerations[most > 12 ? kHopper : most == 12 || most == 4 ? kAmpere : kVolta];
  }

  Failure join_links() {
    unsigned most = 0, most_of_chip = 0;
    for (const Device& device : devices_) {
      unsigned sum = 0;
      for (const Relation& relation : device.to) {
        most = std::max(most, relation.links);
        sum += relation.links;
      }
      most_of_chip = std::max(most_of_chip, sum);
    }
    if (most == 0) return std::nullopt;
    const LinkGeneration& made = generation(most);
    const Result<Link> link = catalog_.link(made.link);
    if (!link) return link.error();
    if (chip_.empty()) {
      node_.source += fmt::format("; no chip is named: {} by the number of links", made.link);
    }
    // More links than a chip has: all of them go to NVSwitches, which join everybody.
    const bool switched = most_of_chip > made.most;
    for (std::size_t i = 0; i < devices_.size(); ++i) join_device(i, switched, *link);
    return std::nullopt;
  }

  void join_device(std::size_t i, bool switched, const Link& link) {
    unsigned to_switch = 0, all = 0;
    for (std::size_t j = 0; j < devices_.size(); ++j) {
      const unsigned links = devices_[i].to[j].links;
      all += links;
      to_switch = std::max(to_switch, links);
      if (links == 0 || switched || j < i) continue;
      node_.join(vertices_[i], vertices_[j], link.bandwidth * (link.efficiency * links),
                 link.latency);
    }
    const unsigned own = switched ? to_switch : all;
    if (devices_[i].gpu && node_.graph.vertices[vertices_[i]].chip == 0) {
      node_.scale_up = link.bandwidth * (link.efficiency * own);
    }
    if (!switched || to_switch == 0) return;
    if (!node_.nvswitch) nvswitch_ = node_.add_vertex("nvswitch");
    node_.nvswitch = true;
    node_.join(vertices_[i], nvswitch_, link.bandwidth * (link.efficiency * to_switch),
               link.latency / 2);
  }

  std::string text_;
  const std::string& name_;
  std::string chip_;
  const Catalog& catalog_;
  std::vector<Device> devices_;
  std::vector<std::uint32_t> vertices_;  ///< of each device
  std::size_t header_ = 1;
  NodeGraph node_;
  std::uint32_t nvswitch_ = 0;
};

}  // namespace

bool is_smi_topology(std::string_view text) {
  const std::string plain = plain_text(text.substr(0, std::size_t{64} << 10));
  TextLines lines(plain);
  bool header = false;
  while (lines.next()) {
    const std::vector<std::string_view> words = lines.words();
    if (words.size() < 2 || !is_gpu_name(words[0])) continue;
    if (header && relation_of(words[1])) return true;
    header = header || (words[0] == "GPU0" && !relation_of(words[1]));
  }
  return false;
}

Result<Cluster> read_smi_topology(std::string_view text, const std::string& name, unsigned nodes,
                                  std::string_view chip, const Catalog& catalog) {
  const Result<NodeGraph> node = SmiReader(text, name, chip, catalog).read();
  if (!node) return node.error();
  return cluster_of_nodes(*node, nodes, name, catalog);
}

}  // namespace flopcast::hardware
