#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/cluster/levels.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/cluster/text_lines.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {
namespace {

constexpr std::array<std::string_view, 4> kKeys = {"topology", "npus_count", "bandwidth",
                                                   "latency"};
enum Key : std::size_t { kTopology, kCount, kBandwidth, kLatency };

/// One item of a list and its line.
struct Item {
  std::string_view text;
  std::size_t line = 0;
};

class AstraReader {
 public:
  AstraReader(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

  Result<Cluster> read() {
    while (lines_.next()) {
      if (auto failure = read_line()) return *failure;
    }
    const std::size_t dimensions = lists_[kTopology].size();
    for (std::size_t key = 0; key < kKeys.size(); ++key) {
      if (!lists_[key].empty() && lists_[key].size() == dimensions) continue;
      return Diagnostic{ErrorCode::kBadInput, name_,
                        fmt::format("{} has {} entries, topology has {}", kKeys[key],
                                    lists_[key].size(), dimensions),
                        "give topology, npus_count, bandwidth and latency one entry per dimension"};
    }
    return cluster();
  }

 private:
  Diagnostic error(std::size_t line, std::string what, std::string hint) const {
    return {ErrorCode::kBadInput, fmt::format("{}:{}", name_, line), std::move(what),
            std::move(hint)};
  }

  /// "key: [a, b]", "key: a", "key:" followed by "- a" lines.
  std::optional<Diagnostic> read_line() {
    std::string_view line = trim(lines_.line().substr(0, lines_.line().find('#')));
    if (line.empty() || line == "---") return std::nullopt;
    if (line.front() == '-') {
      if (key_ == kKeys.size()) return error(lines_.number(), "a list item without a key", "");
      add_items(line.substr(1));
      return std::nullopt;
    }
    const std::size_t colon = line.find(':');
    const std::string_view key = trim(line.substr(0, colon));
    key_ = static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
    if (colon == std::string_view::npos || key_ == kKeys.size()) {
      return error(lines_.number(), fmt::format("'{}' is no key of a network file", line),
                   "known are topology, npus_count, bandwidth, latency");
    }
    if (!lists_[key_].empty()) {
      return error(lines_.number(), fmt::format("{} is there twice", key), "remove one");
    }
    add_items(line.substr(colon + 1));
    return std::nullopt;
  }

  void add_items(std::string_view list) {
    list = trim(list);
    if (list.starts_with('[')) list.remove_prefix(1);
    if (list.ends_with(']')) list.remove_suffix(1);
    while (!(list = trim(list)).empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string_view item = trim(list.substr(0, comma));
      if (!item.empty()) lists_[key_].push_back({item, lines_.number()});
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }

  Setting setting(Key key, std::size_t dimension) const {
    const Item& item = lists_[key][dimension];
    return {std::string(kKeys[key]),
            std::string(item.text),
            {},
            fmt::format("{}:{}", name_, item.line),
            name_,
            Basis::kAssumed};
  }

  /// A number alone, in a unit of the file's that is `unit` of SI's: what links may have, and finite.
  Result<double> quantity(Key key, std::size_t dimension, double unit) const {
    const bool rate = key == kBandwidth;
    const Setting told = setting(key, dimension);
    const auto refuse = [&](const std::string& what) {
      return setting_error(told, what,
                           rate ? "its unit is GB/s of 2^30 bytes: write it like 50"
                                : "its unit is ns, and a switch is two links: write it like 500");
    };
    const Result<double> number = parse_quantity(told.value, UnitKind::kNone);
    if (!number) return refuse(number.error().what);
    const double value = *number * unit;
    const auto wrong = outside(rate ? kBandwidthLimits : kLatencyLimits, value,
                               rate ? UnitKind::kBytesPerSecond : UnitKind::kSeconds, told.value);
    if (wrong) return refuse(wrong->what);
    return value;
  }

  Result<Cluster> cluster() const {
    Cluster cluster;
    cluster.name = name_;
    cluster.chip.name = "unspecified";
    for (std::size_t i = 0; i < lists_[kTopology].size(); ++i) {
      Result<Level> level = dimension(i, cluster);
      if (!level) return level.error();
      cluster.levels.push_back(std::move(*level));
      // What else there is to check of a level was, with its line; chips are counted.
      if (auto failure = check_levels(cluster, setting(kCount, i).where)) return *failure;
    }
    return cluster;
  }

  Result<Level> dimension(std::size_t i, Cluster& cluster) const {
    Level level;
    level.name = i == 0 ? "node" : i == 1 ? "fabric" : fmt::format("fabric{}", i);
    if (i > 0) level.transport = Transport::kRdma;
    const Setting topology = setting(kTopology, i);
    const std::optional<FabricKind> kind = parse_fabric(topology.value);
    if (!kind || (*kind != FabricKind::kRing && *kind != FabricKind::kFullyConnected &&
                  *kind != FabricKind::kSwitch)) {
      return setting_error(topology, fmt::format("no topology is called '{}'", topology.value),
                           "write Ring, FullyConnected or Switch");
    }
    level.fabric = *kind;
    const Result<unsigned> size = setting_count(setting(kCount, i));
    if (!size) return size.error();
    level.size = *size;
    level.shape = {*size};
    const Result<double> bandwidth = quantity(kBandwidth, i, 0x1p30);
    if (!bandwidth) return bandwidth.error();
    const Result<double> latency =
        quantity(kLatency, i, *kind == FabricKind::kSwitch ? 2e-9 : 1e-9);
    if (!latency) return latency.error();
    level.port_bandwidth = {*bandwidth};
    level.latency = {*latency};
    level.ports = level.neighbours() * (cluster.levels.empty() ? 1 : cluster.chips());
    put_fact(cluster.facts, {level.name + ".bandwidth", level.port_bandwidth.value, "B/s", name_,
                             Basis::kAssumed});
    put_fact(cluster.facts,
             {level.name + ".latency", level.latency.value, "s", name_, Basis::kAssumed});
    return level;
  }

  TextLines lines_;
  const std::string& name_;
  std::size_t key_ = kKeys.size();  ///< the list that items go to
  std::array<std::vector<Item>, kKeys.size()> lists_;
};

}  // namespace

Result<Cluster> read_astra_network(std::string_view text, const std::string& name) {
  return AstraReader(text, name).read();
}

Chip chip_or_blank(const Catalog& catalog, std::string_view name) {
  Result<Chip> chip = catalog.chip(name);
  if (chip) return std::move(*chip);
  Chip blank;
  blank.name = name.empty() ? "unspecified" : std::string(name);
  return blank;
}

}  // namespace flopcast::hardware
