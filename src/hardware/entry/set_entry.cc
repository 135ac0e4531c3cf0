#include "hardware/entry/set_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/names.h"

namespace flopcast {
namespace {

constexpr Limits kPrice{0, 1e9}, kFrequency{1e6, 1e12}, kShare{1e-3, 1}, kOversubscription{1, 1e6};

struct ChipKey {
  std::string_view key;
  UnitKind kind;
  Limits limits;
  double& (*field)(Chip&);
};
constexpr ChipKey kChipKeys[] = {
    {"hbm_capacity", UnitKind::kBytes, kCapacityLimits,
     [](Chip& c) -> double& { return c.hbm_capacity.value; }},
    {"hbm_bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits,
     [](Chip& c) -> double& { return c.hbm_bandwidth.value; }},
    {"on_chip_memory",
     UnitKind::kBytes,
     {1, 1e18},
     [](Chip& c) -> double& { return c.on_chip_memory.value; }},
    {"host_bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits,
     [](Chip& c) -> double& { return c.host_bandwidth.value; }},
    {"power_w", UnitKind::kWatts, kPowerLimits, [](Chip& c) -> double& { return c.power_w; }},
    {"price_usd", UnitKind::kDollars, kPrice, [](Chip& c) -> double& { return c.price_usd; }},
    {"tile_frequency", UnitKind::kHertz, kFrequency,
     [](Chip& c) -> double& { return c.tiles.hertz; }},
};

struct ChipCount {
  std::string_view key;
  void (*set)(Chip&, unsigned);
};
constexpr ChipCount kChipCounts[] = {
    {"cores", [](Chip& c, unsigned v) { c.cores = v; }},
    {"tiles", [](Chip& c, unsigned v) { c.tiles.count = v; }},
    {"tile_width", [](Chip& c, unsigned v) { c.tiles.width = v; }},
    {"tile_height", [](Chip& c, unsigned v) { c.tiles.height = v; }},
};

/// Numbers that are facts of a chip and nothing else: programs of live runs ask a device for them, whole runs for its rent.
struct ChipFact {
  std::string_view key;
  Limits limits;
};
constexpr ChipFact kChipFacts[] = {
    {"visible_share", kShare},
    {"compute_capability", {1, 99}},
    {"rent_usd_per_hour", {0, 1e4}},
};

struct LevelKey {
  std::string_view key;
  UnitKind kind;
  Limits limits;
  double& (*field)(Level&);
};
constexpr LevelKey kLevelNumbers[] = {
    {"bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits,
     [](Level& l) -> double& { return l.port_bandwidth.value; }},
    {"latency", UnitKind::kSeconds, kLatencyLimits,
     [](Level& l) -> double& { return l.latency.value; }},
    {"efficiency", UnitKind::kNone, kShare, [](Level& l) -> double& { return l.efficiency; }},
    {"oversubscription", UnitKind::kNone, kOversubscription,
     [](Level& l) -> double& { return l.oversubscription; }},
};
constexpr std::string_view kLevelTexts[] = {
    "fabric", "link", "size", "shape", "ports", "in_network_reduction", "transport", "attachment"};
/// Of those the ones that change how fast a machine is and not what it is made of.
constexpr std::string_view kLevelSwitches[] = {"ports", "in_network_reduction"};

/// A value, or "2x" of what is there.
Result<double> value_or_factor(const Setting& setting, UnitKind kind, const Limits& limits,
                               double now) {
  const std::string_view text = trim(setting.value);
  const std::size_t digits = text.find_first_not_of("0123456789.eE+-");
  if (text.empty() || digits != text.size() - 1 || text.back() != 'x') {
    return setting_number(setting, kind, limits);
  }
  Setting factor = setting;
  factor.value = factor.values[0] = std::string(text.substr(0, digits));
  const Result<double> times = setting_number(factor, UnitKind::kNone);
  if (!times) return times.error();
  if (now == 0 || *times == 0) {
    return setting_error(
        setting,
        fmt::format("'{}' of a number that is {}", text, now == 0 ? "not known" : "to be none"),
        "give a value");
  }
  const double value = now * *times;
  if (auto wrong = outside(limits, value, kind, quantity_text(value, kind))) {
    return setting_error(setting, wrong->what, wrong->hint);
  }
  return value;
}

Fact fact_of(const Setting& setting, std::string key, double value, UnitKind kind) {
  return {std::move(key), value, std::string(unit_name(kind)), setting.source, setting.basis};
}

std::optional<Diagnostic> set_text(std::string& field, const Setting& setting) {
  if (setting.value.empty()) return setting_error(setting, "is empty", "give a name");
  field = setting.value;
  return std::nullopt;
}

/// Its bandwidth is found where the catalogue's links are known: host_link_of().
std::optional<Diagnostic> set_host_link(Chip& chip, const Setting& setting) {
  chip.host_bandwidth = {};
  put_fact(chip.facts, fact_of(setting, "host_bandwidth", 0, UnitKind::kBytesPerSecond));
  return set_text(chip.host_link, setting);
}

struct Number {
  std::string_view key;
  UnitKind kind;
  Limits limits;
  double* field;
};
/// The one of `numbers` that the setting names. @param others keys that are no numbers
std::optional<Diagnostic> set_number(std::initializer_list<Number> numbers, const Setting& setting,
                                     std::string_view subject, std::vector<std::string> others,
                                     std::vector<Fact>& facts) {
  for (const Number& number : numbers) {
    if (number.key != setting.key) {
      others.emplace_back(number.key);
      continue;
    }
    const Result<double> value = setting_number(setting, number.kind, number.limits);
    if (!value) return value.error();
    *number.field = *value;
    put_fact(facts, fact_of(setting, setting.key, *value, number.kind));
    return std::nullopt;
  }
  return unknown_key(setting, subject, others);
}

/// "matrix.bf16", "vector.fp32".
std::optional<Diagnostic> set_rate(Chip& chip, const Setting& setting, std::string_view type_name,
                                   std::array<FlopsPerSecond, kDataTypes>& rates) {
  const std::optional<DataType> type = parse_data_type(type_name);
  if (!type) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kDataTypes; ++i) {
      names.emplace_back(name(static_cast<DataType>(i)));
    }
    return setting_error(setting, fmt::format("no data type is called '{}'", type_name),
                         did_you_mean(type_name, names, "write it like bf16"));
  }
  // 0: the chip cannot.
  const bool none = trim(setting.value) == "0";
  FlopsPerSecond& field = rates[static_cast<std::size_t>(*type)];
  const Result<double> rate = value_or_factor(setting, UnitKind::kFlopsPerSecond,
                                              none ? Limits{} : kRateLimits, field.value);
  if (!rate) return rate.error();
  field = {*rate};
  put_fact(chip.facts, fact_of(setting, setting.key, *rate, UnitKind::kFlopsPerSecond));
  return std::nullopt;
}

std::optional<Diagnostic> set_transport(Transport& transport, const Setting& setting) {
  const std::optional<Transport> named = parse_transport(setting.value);
  if (!named) {
    return setting_error(setting, fmt::format("no transport is called '{}'", setting.value),
                         "write nvlink, xgmi, direct, pcie, rdma or sockets");
  }
  transport = *named;
  return std::nullopt;
}

std::optional<Diagnostic> set_attachment(Attachment& attachment, const Setting& setting) {
  const std::optional<Attachment> named = parse_attachment(setting.value);
  if (!named) {
    return setting_error(setting, fmt::format("ports hang at no '{}'", setting.value),
                         "write chip or host");
  }
  attachment = *named;
  return std::nullopt;
}

/// "nvlink4" or "18 x nvlink4": how many links are bundled into one port.
std::optional<Diagnostic> set_level_link(Level& level, const Setting& setting,
                                         const Catalog& catalog, std::vector<Fact>& facts) {
  std::string_view name = trim(setting.value);
  double lanes = 1;
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string_view::npos) {
    const std::string_view rest = trim(name.substr(digits));
    if (rest.starts_with("x ")) {
      Setting count = setting;
      count.value = std::string(name.substr(0, digits));
      const Result<unsigned> bundled = setting_count(count);
      if (!bundled) return bundled.error();
      lanes = *bundled;
      name = trim(rest.substr(1));
    }
  }
  const Result<Link> link = catalog.link(name);
  if (!link) return setting_error(setting, link.error().what, link.error().hint);
  level.link = link->name;
  level.port_bandwidth = link->bandwidth * lanes;
  level.latency = link->latency;
  level.efficiency = link->efficiency;
  level.transport = link->transport;
  level.attachment = link->attachment;
  for (Fact fact : link->facts) {
    if (fact.key == "bandwidth") fact.value = level.port_bandwidth.value;
    fact.key = level.name + "." + fact.key;
    put_fact(facts, std::move(fact));
  }
  return std::nullopt;
}

std::optional<Diagnostic> set_level_text(Level& level, const Setting& setting,
                                         const Catalog& catalog, std::vector<Fact>& facts) {
  const auto fact = [&](double value) {
    put_fact(facts, fact_of(setting, level.name + "." + setting.key, value, UnitKind::kNone));
  };
  if (setting.key == "link") return set_level_link(level, setting, catalog, facts);
  if (setting.key == "transport") return set_transport(level.transport, setting);
  if (setting.key == "attachment") return set_attachment(level.attachment, setting);
  if (setting.key == "fabric") {
    const std::optional<FabricKind> kind = parse_fabric(setting.value);
    if (!kind) {
      return setting_error(setting, fmt::format("no fabric is called '{}'", setting.value),
                           did_you_mean(setting.value, fabric_names(), "write it like fat-tree"));
    }
    level.fabric = *kind;
    level.shape.clear();
  } else if (setting.key == "shape") {
    Result<std::vector<unsigned>> shape = setting_counts(setting);
    if (!shape) return shape.error();
    level.shape = std::move(*shape);
  } else if (setting.key == "in_network_reduction") {
    const Result<bool> flag = setting_flag(setting);
    if (!flag) return flag.error();
    level.in_network_reduction = *flag;
    fact(*flag ? 1 : 0);
  } else {
    const Result<unsigned> count = setting_count(setting);
    if (!count) return count.error();
    (setting.key == "size" ? level.size : level.ports) = *count;
    fact(*count);
  }
  return std::nullopt;
}

}  // namespace

bool is_override(const Setting& setting) {
  return std::ranges::find(kLevelSwitches, setting.key) != std::end(kLevelSwitches) ||
         std::ranges::find(kLevelNumbers, setting.key, &LevelKey::key) != std::end(kLevelNumbers);
}

void put_fact(std::vector<Fact>& facts, Fact fact) {
  const auto same = std::find_if(facts.begin(), facts.end(),
                                 [&](const Fact& known) { return known.key == fact.key; });
  if (same == facts.end()) {
    facts.push_back(std::move(fact));
  } else {
    *same = std::move(fact);
  }
}

std::vector<std::string> chip_keys() {
  std::vector<std::string> keys;
  for (const ChipKey& entry : kChipKeys) keys.emplace_back(entry.key);
  for (const char* group : {"matrix.", "vector."}) {
    for (std::size_t i = 0; i < kDataTypes; ++i) {
      keys.push_back(group + std::string(name(static_cast<DataType>(i))));
    }
  }
  for (const ChipCount& entry : kChipCounts) keys.emplace_back(entry.key);
  for (const ChipFact& entry : kChipFacts) keys.emplace_back(entry.key);
  for (const char* text : {"aliases", "vendor", "architecture", "host_link"})
    keys.emplace_back(text);
  return keys;
}

std::vector<std::string> level_keys() {
  std::vector<std::string> keys(std::begin(kLevelTexts), std::end(kLevelTexts));
  for (const LevelKey& entry : kLevelNumbers) keys.emplace_back(entry.key);
  return keys;
}

std::optional<Diagnostic> set_chip(Chip& chip, const Setting& setting) {
  if (setting.key == "vendor") return set_text(chip.vendor, setting);
  if (setting.key == "architecture") return set_text(chip.architecture, setting);
  if (setting.key == "host_link") return set_host_link(chip, setting);
  if (setting.key == "aliases") return chip.aliases = setting.values, std::nullopt;
  const std::string_view key = setting.key;
  if (key.starts_with("matrix.")) return set_rate(chip, setting, key.substr(7), chip.matrix);
  if (key.starts_with("vector.")) return set_rate(chip, setting, key.substr(7), chip.vector);
  for (const ChipCount& known : kChipCounts) {
    if (known.key != key) continue;
    const Result<unsigned> count = setting_count(setting);
    if (!count) return count.error();
    known.set(chip, *count);
    put_fact(chip.facts, fact_of(setting, setting.key, *count, UnitKind::kNone));
    return std::nullopt;
  }
  for (const ChipKey& known : kChipKeys) {
    if (known.key != key) continue;
    double& field = known.field(chip);
    const Result<double> value = value_or_factor(setting, known.kind, known.limits, field);
    if (!value) return value.error();
    field = *value;
    put_fact(chip.facts, fact_of(setting, setting.key, *value, known.kind));
    return std::nullopt;
  }
  for (const ChipFact& known : kChipFacts) {
    if (known.key != key) continue;
    const Result<double> value = setting_number(setting, UnitKind::kNone, known.limits);
    if (!value) return value.error();
    put_fact(chip.facts, fact_of(setting, setting.key, *value, UnitKind::kNone));
    return std::nullopt;
  }
  return unknown_key(setting, "a chip", chip_keys());
}

std::optional<Diagnostic> find_host_bandwidth(Chip& chip, const Catalog& catalog) {
  if (chip.host_link.empty() || chip.host_bandwidth.value > 0) return std::nullopt;
  const Result<Link> link = catalog.link(chip.host_link);
  if (!link) {
    return Diagnostic{ErrorCode::kBadInput, chip.name, "host_link: " + link.error().what,
                      link.error().hint};
  }
  chip.host_link = link->name;
  chip.host_bandwidth = link->bandwidth;
  for (Fact& fact : chip.facts) {
    if (fact.key == "host_bandwidth") fact.value = link->bandwidth.value;
  }
  return std::nullopt;
}

std::optional<Diagnostic> set_link(Link& link, const Setting& setting) {
  if (setting.key == "aliases") return link.aliases = setting.values, std::nullopt;
  if (setting.key == "kind") {
    constexpr std::string_view kKinds[] = {"scale-up", "host", "scale-out"};
    for (std::size_t i = 0; i < std::size(kKinds); ++i) {
      if (setting.value == kKinds[i]) return link.kind = static_cast<LinkKind>(i), std::nullopt;
    }
    return setting_error(setting, fmt::format("no kind of link is called '{}'", setting.value),
                         "write scale-up, host or scale-out");
  }
  if (setting.key == "transport") return set_transport(link.transport, setting);
  if (setting.key == "attachment") return set_attachment(link.attachment, setting);
  return set_number(
      {{"bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits, &link.bandwidth.value},
       {"latency", UnitKind::kSeconds, kLatencyLimits, &link.latency.value},
       {"efficiency", UnitKind::kNone, kShare, &link.efficiency}},
      setting, "a link", {"aliases", "kind", "transport", "attachment"}, link.facts);
}

std::optional<Diagnostic> set_memory(MemoryTechnology& memory, const Setting& setting) {
  if (setting.key == "aliases") return memory.aliases = setting.values, std::nullopt;
  return set_number(
      {{"bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits, &memory.bandwidth.value},
       {"capacity", UnitKind::kBytes, {0, 1e18}, &memory.capacity.value},
       {"usd_per_gbps", UnitKind::kDollars, kPrice, &memory.usd_per_gbps},
       {"w_per_gbps", UnitKind::kWatts, {0, 1e6}, &memory.w_per_gbps}},
      setting, "a memory technology", {"aliases"}, memory.facts);
}

std::optional<Diagnostic> set_interconnect(InterconnectTechnology& made, const Setting& setting) {
  if (setting.key == "aliases") return made.aliases = setting.values, std::nullopt;
  double reach = 0;  // a fact alone
  return set_number(
      {{"bandwidth", UnitKind::kBytesPerSecond, kBandwidthLimits, &made.bandwidth.value},
       {"usd_per_gbps", UnitKind::kDollars, kPrice, &made.usd_per_gbps},
       {"w_per_gbps", UnitKind::kWatts, {0, 1e6}, &made.w_per_gbps},
       {"reach", UnitKind::kNone, {1, 1e3}, &reach}},
      setting, "an interconnect technology", {"aliases"}, made.facts);
}

std::optional<Diagnostic> set_level(Level& level, const Setting& setting, const Catalog& catalog,
                                    std::vector<Fact>& facts) {
  for (const std::string_view text : kLevelTexts) {
    if (text == setting.key) return set_level_text(level, setting, catalog, facts);
  }
  for (const LevelKey& known : kLevelNumbers) {
    if (known.key != setting.key) continue;
    double& field = known.field(level);
    const Result<double> value = value_or_factor(setting, known.kind, known.limits, field);
    if (!value) return value.error();
    field = *value;
    put_fact(facts, fact_of(setting, level.name + "." + setting.key, *value, known.kind));
    return std::nullopt;
  }
  return unknown_key(setting, "a level", level_keys());
}

}  // namespace flopcast
