// What follows the first comma of a one-line cluster: fabrics, links and overrides.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/cluster/builder.h"
#include "hardware/cluster/levels.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

/// "3us" out of "latency 3us" or "latency=3us".
std::pair<std::string_view, std::string_view> key_and_value(std::string_view text) {
  const std::size_t cut = text.find_first_of(" =");
  if (cut == std::string_view::npos) return {text, {}};
  std::string_view value = trim(text.substr(cut));
  if (value.starts_with('=')) value = trim(value.substr(1));
  return {text.substr(0, cut), value};
}

bool is_one_of(std::string_view key, const std::vector<std::string>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool is_shape(std::string_view word) {
  return !word.empty() && word.front() >= '0' && word.front() <= '9' &&
         word.find_first_not_of("0123456789xX*") == std::string_view::npos;
}

}  // namespace

ClusterBuilder::Failure ClusterBuilder::apply(const Part& part) {
  if (auto done = apply_fabric(part)) return *done;
  const auto [key, value] = key_and_value(part.text);
  if (key == "fit") return add_fit(where(part), value, {});
  const bool number = !key.empty() && key.front() >= '0' && key.front() <= '9';  // "0.8T Ethernet"
  if ((key.find('.') != std::string_view::npos && !number) || key == "chip" ||
      is_one_of(key, level_keys())) {
    return apply_setting(part, key, value);
  }
  // "400G InfiniBand fat-tree": the fabric behind its link.
  const std::size_t last = part.text.rfind(' ');
  if (last != std::string_view::npos && parse_fabric(part.text.substr(last + 1))) {
    const std::string& turned = spoken_.emplace_back(
        fmt::format("{} {}", part.text.substr(last + 1), trim(part.text.substr(0, last))));
    return apply({turned, part.column});
  }
  return join_by(part, part.text);
}

/// A link of the catalogue, or one that people say.
ClusterBuilder::Failure ClusterBuilder::join_by(const Part& part, std::string_view text) {
  if (const Result<Link> link = catalog_.link(text)) return join_by_link(part, *link);
  const auto said = spoken_link(catalog_, text);
  if (said && !said->link.empty()) {
    if (auto failure = join_by_link(part, *catalog_.link(said->link))) return failure;
    const Level& level = cluster_.levels[current_];
    if (said->ports == 0 || said->ports == level.ports) return std::nullopt;
    return set_current(part, "ports", fmt::format("{}", said->ports));
  }
  if (said) {
    // Half of it said: what is there may be so.
    const auto there = spoken_link(catalog_, cluster_.levels[current_].link);
    const bool same = there && there->gbit > 0 && said->ports == 0 &&
                      (said->gbit == 0 || said->gbit == there->gbit) &&
                      (said->family.empty() || said->family == there->family);
    if (same) return std::nullopt;
    return error(part, said->wrong, said->hint);
  }
  std::vector<std::string> known = fabric_names();
  for (const std::string& name : level_keys()) known.push_back(name);
  for (const Link& link : catalog_.links()) {
    known.push_back(link.name);
    known.insert(known.end(), link.aliases.begin(), link.aliases.end());
  }
  return error(part, fmt::format("'{}' is no fabric, link or setting", part.text),
               did_you_mean(key_and_value(part.text).first, known,
                            "write it like 'fat-tree NDR' or 'oversubscription 2'"));
}

/// What joins nodes cannot join the chips inside of one.
ClusterBuilder::Failure ClusterBuilder::join_by_link(const Part& part, const Link& link) {
  const bool inside = node_ != nullptr && current_ < cluster_.node_levels;
  if (inside && link.kind == LinkKind::kScaleOut) {
    return error(part, fmt::format("{} joins nodes, and there is one", link.name),
                 "count the nodes, like '2 x dgx-h100, NDR', or leave it out");
  }
  return set_current(part, "link", link.name);
}

/// @return nothing where the part does not begin with a fabric's name.
std::optional<ClusterBuilder::Failure> ClusterBuilder::apply_fabric(const Part& part) {
  const std::size_t first = std::min(part.text.find(' '), part.text.size());
  const std::size_t second = std::min(part.text.find(' ', first + 1), part.text.size());
  std::optional<FabricKind> fabric = parse_fabric(part.text.substr(0, second));
  std::size_t used = second;
  if (!fabric) {
    fabric = parse_fabric(part.text.substr(0, first));
    used = first;
  }
  if (!fabric) return std::nullopt;
  if (cluster_.graph) {
    return Failure{error(part, "the network is a graph from a file", "change it there")};
  }
  std::string_view rest = trim(part.text.substr(used));
  Setting shape;
  shape.key = "shape";
  shape.where = where(part);
  if (const std::string_view word = rest.substr(0, rest.find(' ')); is_shape(word)) {
    shape.value = word;
    rest = trim(rest.substr(word.size()));
  }
  if (!joinable_ || bare_chip_) {
    if (auto failure = add_level(*fabric, shape)) return failure;
  } else {
    Level& level = cluster_.levels.back();
    level.fabric = *fabric;
    level.shape.clear();
    current_ = cluster_.levels.size() - 1;
    if (!shape.value.empty()) {
      if (auto failure = set_level(level, shape, catalog_, cluster_.facts)) return failure;
    }
    joinable_ = false;
  }
  if (rest.empty()) return Failure{};
  return join_by(part, rest);
}

/// One more level around all there is. Every port below goes on through it.
ClusterBuilder::Failure ClusterBuilder::add_level(FabricKind fabric, const Setting& shape) {
  if (shape.value.empty()) {
    return Diagnostic{ErrorCode::kBadInput, shape.where, "how many are joined is not said",
                      fmt::format("write it like '{} 4'", name(fabric))};
  }
  const Result<std::vector<unsigned>> sizes = setting_counts(shape);
  if (!sizes) return sizes.error();
  Level level;
  level.fabric = fabric;
  level.shape = *sizes;
  std::uint64_t size = 1;
  for (const unsigned extent : *sizes) size = std::min<std::uint64_t>(size * extent, 1U << 25);
  level.size = static_cast<unsigned>(size);
  if (bare_chip_) {
    level.name = "node";
    level.ports = level.neighbours();
    cluster_.levels.clear();
    bare_chip_ = false;
  } else {
    const std::size_t outer = cluster_.levels.size() - cluster_.node_levels;
    level.name = outer == 0 ? "fabric" : fmt::format("fabric{}", outer + 1);
    const bool nic = outer == 0 && node_ != nullptr && node_->nic.has_value();
    if (nic) {
      const Level& usual = *node_->nic;
      level.ports = usual.ports;
      level.transport = usual.transport;
      level.attachment = usual.attachment;
      level.link = usual.link;
      level.port_bandwidth = usual.port_bandwidth;
      level.latency = usual.latency;
      level.efficiency = usual.efficiency;
    } else {
      const Level& below = cluster_.levels.back();
      level.transport = Transport::kRdma;
      const unsigned planes =
          outer == 0 ? cluster_.chips_per_node() : below.ports / below.neighbours() * below.size;
      level.ports = std::max(1U, planes) * level.neighbours();
    }
  }
  cluster_.levels.push_back(std::move(level));
  current_ = cluster_.levels.size() - 1;
  return std::nullopt;
}

ClusterBuilder::Failure ClusterBuilder::set_current(const Part& part, std::string key,
                                                    std::string_view value) {
  Setting setting{std::move(key), std::string(value), {std::string(value)}, where(part),
                  "given",        Basis::kAssumed};
  return apply_to_level("", setting);
}

/// @param folder that the path starts from
ClusterBuilder::Failure ClusterBuilder::add_fit(const std::string& place, std::string_view path,
                                                const std::filesystem::path& folder) {
  if (path.empty()) {
    return Diagnostic{ErrorCode::kBadInput, place, "fit: the file is missing",
                      "write it like 'fit mine.toml'"};
  }
  auto fit = read_fit_file(folder / path);
  if (!fit) return fit.error();
  if (std::ranges::find(cluster_.fits, *fit) == cluster_.fits.end()) {
    cluster_.fits.push_back(std::move(*fit));
  }
  return std::nullopt;
}

ClusterBuilder::Failure ClusterBuilder::apply_setting(const Part& part, std::string_view key,
                                                      std::string_view value) {
  if (value.empty()) {
    return error(part, fmt::format("'{}' has no value", key),
                 fmt::format("write it like '{} VALUE'", key));
  }
  Setting setting{std::string(key), std::string(value), {std::string(value)}, where(part),
                  "given",          Basis::kAssumed};
  if (key == "chip") {
    Result<Chip> chip = catalog_.chip(value);
    if (!chip) return error(part, chip.error().what, chip.error().hint);
    cluster_.chip = std::move(*chip);
    return std::nullopt;
  }
  const std::size_t dot = key.find('.');
  const std::string target(key.substr(0, dot == std::string_view::npos ? 0 : dot));
  if (dot != std::string_view::npos) setting.key = std::string(key.substr(dot + 1));
  if (target == "chip") return set_chip_of(setting);
  return apply_to_level(target, setting);
}

ClusterBuilder::Failure ClusterBuilder::set_chip_of(const Setting& setting) {
  overrides_ = true;
  if (nominal_) return std::nullopt;
  if (auto failure = set_chip(cluster_.chip, setting)) return failure;
  return find_host_bandwidth(cluster_.chip, catalog_);
}

ClusterBuilder::Failure ClusterBuilder::apply_to_level(const std::string& target,
                                                       const Setting& setting) {
  std::vector<Level>& levels = cluster_.levels;
  std::size_t index = current_;
  if (!target.empty()) {
    index = static_cast<std::size_t>(
        std::find_if(levels.begin(), levels.end(),
                     [&](const Level& level) { return level.name == target; }) -
        levels.begin());
    if (index == levels.size() && target == "nic") index = cluster_.node_levels;
    if (index == levels.size() && target == "nvlink") index = 0;
  }
  if (cluster_.graph) {
    return Diagnostic{ErrorCode::kBadInput, setting.where,
                      fmt::format("{}: the network is a graph from a file", setting.key),
                      "change it there; only the chip can be changed here"};
  }
  if (index >= levels.size()) {
    std::string names;
    for (const Level& level : levels) names += level.name + ", ";
    return Diagnostic{ErrorCode::kBadInput, setting.where,
                      fmt::format("no level is called '{}'", target),
                      fmt::format("this cluster has {}chip", names)};
  }
  return set_level_of(index, setting);
}

ClusterBuilder::Failure ClusterBuilder::set_level_of(std::size_t index, const Setting& setting) {
  if (is_override(setting)) {
    overrides_ = true;
    if (nominal_) return std::nullopt;
  }
  Level& level = cluster_.levels[index];
  const Level before = level;
  const unsigned node_chips = cluster_.chips_per_node();
  if (auto failure = set_level(level, setting, catalog_, cluster_.facts)) return failure;
  if (level.size == before.size) return std::nullopt;
  const unsigned size = level.size;
  level = before;
  resize_level(level, size);
  // A port of its own for every chip stays one.
  const std::size_t outer = cluster_.node_levels;
  if (index < outer && outer < cluster_.levels.size() &&
      cluster_.levels[outer].ports == node_chips) {
    cluster_.levels[outer].ports = cluster_.chips_per_node();
  }
  return std::nullopt;
}

}  // namespace flopcast::hardware
