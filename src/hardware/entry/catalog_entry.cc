#include "hardware/entry/catalog_entry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "hardware/entry/set_entry.h"

namespace flopcast {
namespace {

/// What brings other values with it comes first.
int precedence(const Setting& setting) {
  if (setting.key == "fabric") return 0;
  return setting.key == "link" ? 1 : 2;
}

}  // namespace

std::optional<Diagnostic> read_level(const TomlFile& file, const toml::table& table,
                                     const toml::table* parent, const Catalog& catalog,
                                     Level& level, std::vector<Fact>& facts) {
  Result<std::vector<Setting>> settings = settings_of(file, table, {"name"}, parent);
  if (!settings) return settings.error();
  if (const auto* given = table["name"].as_string()) level.name = given->get();
  std::stable_sort(settings->begin(), settings->end(), [](const Setting& a, const Setting& b) {
    return precedence(a) < precedence(b);
  });
  for (const Setting& setting : *settings) {
    if (auto error = set_level(level, setting, catalog, facts)) return error;
  }
  return std::nullopt;
}

Result<std::vector<Level>> read_levels(const TomlFile& file, const toml::table& parent,
                                       const Catalog& catalog, std::vector<Fact>& facts) {
  std::vector<Level> levels;
  const toml::array* list = parent["level"].as_array();
  if (list == nullptr) return levels;
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return Diagnostic{ErrorCode::kBadInput, place(file, node), "level: expected a table",
                        "write [[level]]"};
    }
    Level level;
    level.name = levels.empty()       ? "node"
                 : levels.size() == 1 ? "fabric"
                                      : fmt::format("fabric{}", levels.size());
    if (!levels.empty()) level.transport = Transport::kRdma;
    if (auto error = read_level(file, *table, &parent, catalog, level, facts)) return *error;
    levels.push_back(std::move(level));
  }
  return levels;
}

Result<CatalogNode> read_node(const TomlFile& file, const NamedTable& entry,
                              const Catalog& catalog) {
  CatalogNode node;
  node.name = entry.name;
  const Result<std::vector<Setting>> settings = settings_of(file, *entry.table, {"nic"});
  if (!settings) return settings.error();
  for (const Setting& setting : *settings) {
    if (setting.key == "aliases") {
      node.aliases = setting.values;
    } else if (setting.key == "chip") {
      const Result<Chip> chip = catalog.chip(setting.value);
      if (!chip) return setting_error(setting, chip.error().what, chip.error().hint);
      node.chip = chip->name;
    } else {
      return unknown_key(setting, "a node", {"chip", "aliases", "level", "nic"});
    }
  }
  Result<std::vector<Level>> levels = read_levels(file, *entry.table, catalog, node.facts);
  if (!levels) return levels.error();
  if (levels->empty() || node.chip.empty()) {
    return Diagnostic{
        ErrorCode::kBadInput, place(file, *entry.table),
        fmt::format("node {}: {} missing", node.name, levels->empty() ? "[[level]]" : "chip"),
        "a node names its chip and how its chips are joined"};
  }
  node.levels = std::move(*levels);
  if (const toml::table* table = (*entry.table)["nic"].as_table()) {
    Level nic;
    nic.name = "fabric";
    nic.transport = Transport::kRdma;
    if (auto error = read_level(file, *table, entry.table, catalog, nic, node.facts)) {
      return *error;
    }
    node.nic = std::move(nic);
  }
  return node;
}

namespace {

/// The chip that `like` names, as the beginning of another: its numbers say that they are its own. The
/// catalogue itself vouches for what it takes over.
Result<Chip> relative(const TomlFile& file, const toml::value<std::string>& like,
                      const Catalog& catalog) {
  Result<Chip> known = catalog.chip(like.get());
  if (!known) {
    return Diagnostic{ErrorCode::kBadInput, place(file, like), known.error().what,
                      known.error().hint};
  }
  known->aliases.clear();
  // Whatever it is like, nobody lends it at the other's price.
  std::erase_if(known->facts, [](const Fact& fact) { return fact.key == "rent_usd_per_hour"; });
  if (file.sources_required) return known;
  for (Fact& fact : known->facts) {
    fact.source = fmt::format("taken over from {} ({})", known->name, fact.source);
    fact.basis = Basis::kAssumed;
  }
  return known;
}

/// A chip made slower in one data type is slower in others: they have to be said, not taken over.
std::optional<Diagnostic> check_rates(const TomlFile& file, const toml::table& table,
                                      const std::vector<Setting>& settings, std::string_view group,
                                      const std::array<FlopsPerSecond, kDataTypes>& before,
                                      const std::array<FlopsPerSecond, kDataTypes>& after) {
  std::string lowered;
  std::vector<std::string> silent;
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    const std::string key = fmt::format("{}.{}", group, name(static_cast<DataType>(i)));
    const bool said =
        std::ranges::any_of(settings, [&](const Setting& setting) { return setting.key == key; });
    if (after[i].value < before[i].value && lowered.empty()) lowered = key;
    if (!said && before[i].value > 0) silent.push_back(key);
  }
  if (lowered.empty() || silent.empty()) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, place(file, table),
                    fmt::format("{} is lower than that of the chip it is like, which still has its "
                                "own {}",
                                lowered, fmt::join(silent, ", ")),
                    "state these rates, too; 0 for what the chip cannot do"};
}

}  // namespace

Result<Chip> read_chip(const TomlFile& file, const toml::table& table, std::string name,
                       const Catalog& catalog) {
  Chip chip;
  if (const auto* like = table["like"].as_string()) {
    Result<Chip> known = relative(file, *like, catalog);
    if (!known) return known.error();
    chip = std::move(*known);
  }
  const auto matrix = chip.matrix, vector = chip.vector;
  chip.name = std::move(name);
  const Result<std::vector<Setting>> settings = settings_of(file, table, {"like", "name"});
  if (!settings) return settings.error();
  for (const Setting& setting : *settings) {
    if (auto error = set_chip(chip, setting)) return *error;
  }
  if (auto error = check_rates(file, table, *settings, "matrix", matrix, chip.matrix))
    return *error;
  if (auto error = check_rates(file, table, *settings, "vector", vector, chip.vector))
    return *error;
  return chip;
}

std::optional<Diagnostic> check_sources(const TomlFile& file, const NamedTable& entry,
                                        const std::vector<Fact>& facts) {
  if (!file.sources_required) return std::nullopt;
  for (const Fact& fact : facts) {
    if (!fact.source.empty()) continue;
    return Diagnostic{ErrorCode::kBadInput, place(file, *entry.table),
                      fmt::format("{}: {} has no source", entry.name, fact.key),
                      "add source = \"...\" to the entry or to the number"};
  }
  return std::nullopt;
}

}  // namespace flopcast
