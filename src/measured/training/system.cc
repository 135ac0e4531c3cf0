#include "measured/training/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/rate_words.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "measured/training/book.h"
#include "measured/training/words.h"

namespace flopcast::measured {
namespace {

/// The part in the first brackets, and the rest without any.
std::pair<std::string, std::string> split_brackets(std::string_view text) {
  std::string inside, outside;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('(', at);
    const std::size_t close = open == text.npos ? open : text.find(')', open);
    if (close == text.npos) {
      outside += text.substr(at);
      break;
    }
    if (inside.empty()) inside = text.substr(open + 1, close - open - 1);
    outside += text.substr(at, open - at);
    at = close + 1;
  }
  return {std::string(trim(inside)), std::string(trim(outside))};
}

std::string_view without_vendor(std::string_view name) {
  for (const std::string_view vendor : {"NVIDIA ", "AMD Instinct ", "AMD ", "Intel "}) {
    if (name.starts_with(vendor)) return trim(name.substr(vendor.size()));
  }
  return name;
}

/// What a catalogue may know a chip by, the likeliest first: "NVIDIA Blackwell GPU (B200-SXM-180GB)" as it stands, in
/// and outside of brackets, without who makes it.
std::vector<std::string> chip_names(const std::string& gpu) {
  std::vector<std::string> names = {gpu};
  const auto add = [&](std::string_view name) {
    if (!name.empty()) names.emplace_back(name);
  };
  if (gpu.find('(') != std::string::npos) {
    const auto [inside, outside] = split_brackets(gpu);
    add(inside), add(outside);
  }
  for (std::size_t i = 0, n = names.size(); i < n; ++i) {
    const std::string_view name = without_vendor(names[i]);
    if (name.size() < names[i].size()) add(std::string(name));
  }
  return names;
}

/// Single words of a name, two neighbours that may be one, and what publishers mean by a word: "MI300X 192GB HBM3" has MI300X,
/// "Gaudi 2" is Gaudi2, "TPU v6e-256" a slice of tpu-v6e.
std::vector<std::string> chip_words(std::string_view name, const LaunchBook& book) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string_view> words = words_of(name);
  words.resize(std::min(words.size(), kMost));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word(words[i]);
    if (i + 1 < words.size()) out.push_back(word + " " + std::string(words[i + 1]));
    out.push_back(word);
    for (const DeviceRule& device : book.devices) {
      const bool meant = std::ranges::any_of(
          device.called, [&](const std::string& called) { return same_word(called, word); });
      if (meant) out.push_back(device.chip);
    }
  }
  return out;
}

Result<Chip> find_chip(const std::string& gpu, const Catalog& catalog, const LaunchBook& book) {
  const std::vector<std::string> names = chip_names(gpu);
  const Result<Chip> whole = catalog.chip(gpu);
  for (const std::string& name : names) {
    if (Result<Chip> chip = catalog.chip(name)) return chip;
  }
  for (const std::string& name : names) {
    for (const std::string& word : chip_words(name, book)) {
      if (Result<Chip> chip = catalog.chip(word)) return chip;
    }
  }
  return whole;
}

/// A node of the catalogue that holds so many of these chips. nullopt: there is none.
std::optional<std::string> node_of(const Chip& chip, unsigned size, const Catalog& catalog) {
  for (const std::string& name : catalog.node_names()) {
    const Result<Cluster> node = catalog.cluster(name);
    if (node && node->chip.name == chip.name && node->chips_per_node() == size) return name;
  }
  return std::nullopt;
}

/// What a run counts, and whether its model is split over more devices than that.
struct CountedChip {
  Chip chip;
  bool splits = false;  ///< `chip` is a core, of which the model is split over as many as there are
  unsigned cores = 1;   ///< of what is counted
};
Result<CountedChip> find_counted(const RunSystem& system, const Catalog& catalog) {
  const Result<LaunchBook>& book = launch_book();
  if (!book) return book.error();
  Result<Chip> chip = find_chip(system.gpu, catalog, *book);
  if (!chip) return chip.error();
  const auto device = std::ranges::find(book->devices, chip->name, &DeviceRule::chip);
  if (device == book->devices.end() || device->core.empty()) return CountedChip{std::move(*chip)};
  Result<Chip> core = catalog.chip(device->core);
  if (!core) return core.error();
  // trn1.32xlarge; hosts of 4 chips that count 8
  const bool counted = node_of(*core, system.per_node, catalog).has_value() ||
                       (device->host > 0 && system.per_node == device->host * device->cores);
  const bool untold = system.devices == 0 && !counted;
  const bool splits = untold || system.devices == device->cores * system.gpus;
  return CountedChip{std::move(counted || splits ? *core : *chip), splits, device->cores};
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

/// Chips that come in nodes so large are used in parts of them, whatever a host holds. nullopt: these do not.
struct Rack {
  std::string name;
  unsigned size = 0;
};
std::optional<Rack> rack_of(const Chip& chip, const Catalog& catalog) {
  constexpr unsigned kLargestBox = 32;
  for (const std::string& name : catalog.node_names()) {
    const Result<Cluster> node = catalog.cluster(name);
    if (!node || node->chip.name != chip.name) continue;
    const bool switched = node->levels[node->node_levels - 1].fabric == FabricKind::kSwitch;
    if (switched && node->chips_per_node() > kLargestBox) return Rack{name, node->chips_per_node()};
  }
  return std::nullopt;
}

/// Nodes are whole; racks of 72 are used in parts of 64.
unsigned node_size(const std::optional<Rack>& rack, const RunSystem& system) {
  if (!rack) return std::min(std::max(1U, system.per_node), system.gpus);
  const bool whole = system.gpus % rack->size == 0;
  return std::min(whole ? rack->size : std::bit_floor(rack->size), system.gpus);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c, char lower) { return c == lower || c == lower - 'a' + 'A'; }

/// The digits that end at `end`, at most so many.
std::string_view digits_before(std::string_view text, std::size_t end, std::size_t most) {
  std::size_t first = end;
  while (first > 0 && end - first < most && is_digit(text[first - 1])) --first;
  return text.substr(first, end - first);
}

/// "8" of "8x HDR IB 200Gb/s": how often, in front of a rate and in the same part of the text. 0: it is not said.
unsigned count_before(std::string_view text, std::size_t from, std::size_t rate) {
  constexpr std::string_view kEnds = ",;+";
  constexpr std::size_t kMostDigits = 4;
  const std::size_t cut = rate == 0 ? text.npos : text.find_last_of(kEnds, rate - 1);
  const std::size_t part = cut == text.npos ? from : std::max(from, cut + 1);
  for (std::size_t at = part; at < rate; ++at) {
    if (!is_letter(text[at], 'x')) continue;
    std::size_t end = at;
    while (end > from && text[end - 1] == ' ') --end;
    const std::string_view digits = digits_before(text, end, std::min(kMostDigits, end - from));
    if (const auto count = parse_whole<unsigned>(digits)) return *count;
  }
  return 0;
}

/// "8" of "400 Gb/s x 8", behind a rate. 0: it is not said.
unsigned count_behind(std::string_view behind) {
  std::string_view rest = trim(behind);
  if (rest.empty() || !is_letter(rest.front(), 'x')) return 0;
  rest = trim(rest.substr(1));
  return take_whole<unsigned>(rest).value_or(0);
}

/// What a rate is of, where it says so: "per GPU", "/node", "a port".
enum class RateOf : std::uint8_t { kUntold, kChip, kNode };
RateOf rate_of(std::string_view tail) {
  const bool stroke = tail.starts_with('/');
  constexpr std::array<std::string_view, 6> kChips = {"gpu",    "chip", "accelerator",
                                                      "device", "rank", "gpus"};
  constexpr std::array<std::string_view, 4> kNodes = {"node", "server", "host", "box"};
  const std::vector<std::string_view> words = words_of(tail);
  for (std::size_t i = 0; i < words.size(); ++i) {
    constexpr std::array<std::string_view, 3> kPer = {"per", "a", "each"};
    const bool asked = i == 0 ? stroke : std::ranges::any_of(kPer, [&](std::string_view word) {
      return same_word(word, words[i - 1]);
    });
    const auto is = [&](std::string_view word) { return same_word(word, words[i]); };
    if (asked && std::ranges::any_of(kChips, is)) return RateOf::kChip;
    if (asked && std::ranges::any_of(kNodes, is)) return RateOf::kNode;
  }
  return RateOf::kUntold;
}

/// "500" of "H100-96GB-HBM2e-500W": the first number of three or four digits before a W that ends a word.
std::string_view watts_in(std::string_view gpu) {
  for (std::size_t at = gpu.find('W'); at != gpu.npos; at = gpu.find('W', at + 1)) {
    if (at + 1 < gpu.size() && (is_word_part(gpu[at + 1]) || gpu[at + 1] == '_')) continue;
    const std::size_t end = at > 0 && gpu[at - 1] == ' ' ? at - 1 : at;
    const std::string_view digits = digits_before(gpu, end, 4);
    if (digits.size() >= 3) return digits;
  }
  return {};
}

}  // namespace

NodePorts parse_ports(std::string_view words, unsigned per_node) {
  NodePorts best;
  std::size_t from = 0;
  for (auto rate = next_rate(words, 0); rate; rate = next_rate(words, from)) {
    const std::string_view behind = words.substr(rate->end);
    const std::string_view tail = behind.substr(0, behind.find_first_of(",;+"));
    double each = rate->bytes_per_s;
    if (tail.find("bidir") != tail.npos) each /= 2;
    // A rate alone may be of a bus, of a switch, of storage: how many ports there are is not said.
    const unsigned before = count_before(words, from, rate->begin);
    unsigned count = before > 0 ? before : count_behind(tail);
    const RateOf of = rate_of(tail);
    if (count == 0 && of != RateOf::kUntold) {
      count = per_node;
      if (of == RateOf::kNode) each /= per_node;
    }
    if (count * each > best.ports * best.bytes_per_s) best = {count, each};
    from = rate->end;
  }
  return best;
}

Result<std::string> cluster_line(const RunSystem& run, const Catalog& catalog,
                                 std::vector<std::string>& assumed) {
  RunSystem system = run;
  const Result<CountedChip> counted = find_counted(system, catalog);
  if (!counted) return counted.error();
  const Chip* const chip = &counted->chip;
  if (counted->splits) {
    system.gpus = system.devices > 0 ? system.devices : system.gpus * counted->cores;
    assumed.push_back(fmt::format("devices: {} cores", system.gpus));
  }
  if (std::optional<std::string> slice = torus_line(*chip, system.gpus, catalog)) return *slice;
  const std::optional<Rack> rack = rack_of(*chip, catalog);
  const unsigned size = node_size(rack, system);
  if (system.gpus == 0 || system.gpus % size != 0) {
    return Diagnostic{ErrorCode::kBadInput, system.gpu,
                      fmt::format("{} chips do not fill nodes of {}", system.gpus, size),
                      "give gpus and gpus_per_node"};
  }
  const unsigned nodes = system.gpus / size;
  const Result<Cluster> usual = catalog.cluster(fmt::format("{} x {}", 2 * 8, chip->name));
  std::string line = fmt::format("{} x {}", system.gpus, chip->name);
  if (const Result<Cluster> all = catalog.cluster(line); !all || all->chips_per_node() != size) {
    const auto known = rack ? std::nullopt : node_of(*chip, size, catalog);
    if (rack) {
      line = fmt::format("{} x {}, node.size {}", nodes, rack->name, size);
    } else if (known) {
      line = fmt::format("{} x {}", nodes, *known);
    } else if (usual && usual->node_levels == 1) {
      line = fmt::format("{} x {}, node.size {}, fabric.size {}", 2 * 8, chip->name, size, nodes);
    }
  }
  const Result<Cluster> cluster = catalog.cluster(line);
  if (!cluster) return cluster.error();
  if (nodes > 1 && cluster->levels.size() > cluster->node_levels) {
    const Level& fabric = cluster->levels[cluster->node_levels];
    const NodePorts ports = parse_ports(system.network, system.per_node);
    const double told = ports.ports * ports.bytes_per_s * size / system.per_node;
    const double usual_rate = fabric.child_bandwidth().value;
    constexpr double kSame = 0.05;
    if (ports.ports == 0) {
      assumed.push_back(usual_network(fabric, system.network));
    } else if (std::abs(told / usual_rate - 1) > kSame) {
      line += fmt::format(", nic.ports {}, nic.bandwidth {}Gb/s",
                          ports.ports * size / system.per_node, ports.bytes_per_s * 8 / 1e9);
    }
  }
  if (const std::string_view watts = watts_in(system.gpu); !watts.empty()) {
    line += fmt::format(", chip.power_w {}W", watts);
  }
  if (system.hbm_bytes_per_s > 0) {
    line += fmt::format(", chip.hbm_bandwidth {}GB/s", system.hbm_bytes_per_s / 1e9);
  }
  return line;
}

}  // namespace flopcast::measured
