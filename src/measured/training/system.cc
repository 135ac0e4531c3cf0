#include "measured/training/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace flopcast::measured {
namespace {

/// Words around a chip's name that say nothing the catalogue needs.
std::vector<std::string> chip_names(const std::string& gpu) {
  std::vector<std::string> names = {gpu};
  const auto add = [&](std::string text) {
    const auto first = text.find_first_not_of(' ');
    const auto last = text.find_last_not_of(' ');
    if (first != std::string::npos) names.push_back(text.substr(first, last - first + 1));
  };
  static const std::regex inside(R"(\(([^)]*)\))");
  if (std::smatch match; std::regex_search(gpu, match, inside)) {
    add(match[1]);
    add(std::regex_replace(gpu, inside, ""));
  }
  for (std::size_t i = 0; i < names.size() && names.size() < 12; ++i) {
    static const std::regex vendor(R"(^(NVIDIA|AMD Instinct|AMD|Intel) )");
    if (std::regex_search(names[i], vendor)) add(std::regex_replace(names[i], vendor, ""));
  }
  // "MI300X 192GB HBM3", "B300-SXM-270GB", "H100-96GB-HBM2e-500W": the first word of letters and
  // digits that names a chip.
  const std::size_t spelled = names.size();
  for (std::size_t i = 0; i < spelled; ++i) {
    static const std::regex word(
        R"(\b(GB200|GB300|GH200|[ABHVL]\d{2,3}S?|MI\d{3}X|Gaudi ?\d|HL-\d{3}L?|Trainium ?\d|Trn\d)\b)",
        std::regex::icase);
    if (std::smatch match; std::regex_search(names[i], match, word)) add(match[1]);
    // "TPU v6e-256", "v5p-128": what follows counts chips or cores of the slice.
    static const std::regex tpu(R"((?:\bTPU[ -]?)?\b(v\d\w?)\b)", std::regex::icase);
    if (std::smatch match; std::regex_search(names[i], match, tpu)) add("tpu-" + match[1].str());
  }
  return names;
}

Result<Chip> find_chip(const std::string& gpu, const Catalog& catalog) {
  std::optional<Diagnostic> first;
  for (const std::string& name : chip_names(gpu)) {
    Result<Chip> chip = catalog.chip(name);
    if (chip) return chip;
    if (!first) first = chip.error();
  }
  return *first;
}

/// Programs see some chips as two devices: a run may count those, or chips and split the model over devices.
Result<Chip> find_device(const RunSystem& system, const Catalog& catalog) {
  Result<Chip> chip = find_chip(system.gpu, catalog);
  if (!chip) return chip;
  Result<Chip> core = catalog.chip(chip->name + "-core");
  constexpr unsigned kCoresOfMachine = 32;  // trn1.32xlarge
  const bool counted = system.per_node == kCoresOfMachine;
  return core && (counted || system.devices == 2 * system.gpus) ? core : chip;
}

/// What is assumed of a network whose words say too little.
std::string usual_network(const Level& fabric, const std::string& words) {
  std::string text = fmt::format("network between nodes: {} x {}", fabric.ports, fabric.link);
  if (words.find_first_of("0123456789") == std::string::npos) return text;
  return text + ", since a rate is given without a number of ports";
}

/// Chips on a torus are a slice of their pod, whatever a host holds of them. nullopt: they are on none.
std::optional<std::string> torus_line(const Chip& chip, unsigned gpus, const Catalog& catalog) {
  std::string line = fmt::format("{} x {}", gpus, chip.name);
  const Result<Cluster> cluster = catalog.cluster(line);
  if (gpus < 2 || !cluster) return std::nullopt;
  const Level& last = cluster->levels[cluster->node_levels - 1];
  return last.fabric == FabricKind::kTorus ? std::optional(line) : std::nullopt;
}

/// A node of the catalogue that holds so many of these chips. nullopt: there is none.
std::optional<std::string> node_of(const Chip& chip, unsigned size, const Catalog& catalog) {
  for (const std::string& name : catalog.node_names()) {
    const Result<Cluster> node = catalog.cluster(name);
    if (node && node->chip.name == chip.name && node->chips_per_node() == size) return name;
  }
  return std::nullopt;
}

/// Nodes are whole; racks of 72 are used in parts of 64.
unsigned node_size(const Chip& chip, const RunSystem& system) {
  constexpr unsigned kRack = 72, kUsedOfRack = 64;
  const bool rack = chip.name.starts_with("gb200") || chip.name.starts_with("gb300");
  const unsigned used = system.gpus % kRack == 0 ? kRack : kUsedOfRack;
  return std::min(rack ? used : std::max(1U, system.per_node), system.gpus);
}

}  // namespace

NodePorts parse_ports(std::string_view words, unsigned per_node) {
  static const std::regex port(
      R"((?:(\d{1,4})\s*x\s?[^,;+]*?)?(\d{1,6})\s*G(?:b|bps|B|E|BASE)?[/-]?s?(?:ec)?\b(?=([^,;+]*)))",
      std::regex::icase);
  NodePorts best;
  const std::string text(words);
  for (std::sregex_iterator it(text.begin(), text.end(), port), end; it != end; ++it) {
    const std::smatch& match = *it;
    double gigabits = std::stod(match[2]);
    // A rate alone may be of a bus, of a switch, of storage: how many ports there are is not said.
    unsigned count = match[1].matched ? static_cast<unsigned>(std::stoul(match[1])) : 0;
    const std::string tail = match[3];
    if (count == 0 && tail.find("per GPU") != std::string::npos) count = per_node;
    if (!match[1].matched && tail.find("per node") != std::string::npos) {
      count = per_node;
      gigabits /= per_node;
    }
    if (count * gigabits > best.ports * best.bits_per_s / 1e9) best = {count, gigabits * 1e9};
  }
  return best;
}

Result<std::string> cluster_line(const RunSystem& run, const Catalog& catalog,
                                 std::vector<std::string>& assumed) {
  RunSystem system = run;
  const Result<Chip> chip = find_device(system, catalog);
  if (!chip) return chip.error();
  if (chip->name.ends_with("-core") && system.devices == 2 * system.gpus) {
    assumed.push_back(fmt::format("devices: {} cores", system.devices));
    system.gpus = system.devices;
  }
  if (std::optional<std::string> slice = torus_line(*chip, system.gpus, catalog)) return *slice;
  const unsigned size = node_size(*chip, system);
  if (system.gpus == 0 || system.gpus % size != 0) {
    return Diagnostic{ErrorCode::kBadInput, system.gpu,
                      fmt::format("{} chips do not fill nodes of {}", system.gpus, size),
                      "give gpus and gpus_per_node"};
  }
  const unsigned nodes = system.gpus / size;
  const Result<Cluster> usual = catalog.cluster(fmt::format("{} x {}", 2 * 8, chip->name));
  std::string line = fmt::format("{} x {}", system.gpus, chip->name);
  if (const Result<Cluster> all = catalog.cluster(line); !all || all->chips_per_node() != size) {
    const std::string node = chip->name.starts_with("gb") ? chip->name + "-nvl72" : std::string();
    if (!node.empty()) line = fmt::format("{} x {}, node.size {}", nodes, node, size);
    const auto known = node.empty() ? node_of(*chip, size, catalog) : std::nullopt;
    if (known) {
      line = fmt::format("{} x {}", nodes, *known);
    } else if (node.empty() && usual && usual->node_levels == 1) {
      line = fmt::format("{} x {}, node.size {}, fabric.size {}", 2 * 8, chip->name, size, nodes);
    }
  }
  const Result<Cluster> cluster = catalog.cluster(line);
  if (!cluster) return cluster.error();
  if (nodes > 1 && cluster->levels.size() > cluster->node_levels) {
    const Level& fabric = cluster->levels[cluster->node_levels];
    const NodePorts ports = parse_ports(system.network, system.per_node);
    const double told = ports.ports * ports.bits_per_s / 8 * size / system.per_node;
    const double usual_rate = fabric.child_bandwidth().value;
    constexpr double kSame = 0.05;
    if (ports.ports == 0) {
      assumed.push_back(usual_network(fabric, system.network));
    } else if (std::abs(told / usual_rate - 1) > kSame) {
      line += fmt::format(", nic.ports {}, nic.bandwidth {}Gb/s",
                          ports.ports * size / system.per_node, ports.bits_per_s / 1e9);
    }
  }
  static const std::regex power(R"((\d{3,4})\s?W\b)");
  if (std::smatch match; std::regex_search(system.gpu, match, power)) {
    line += fmt::format(", chip.power_w {}W", match[1].str());
  }
  if (system.hbm_bytes_per_s > 0) {
    line += fmt::format(", chip.hbm_bandwidth {}GB/s", system.hbm_bytes_per_s / 1e9);
  }
  return line;
}

}  // namespace flopcast::measured
