// Nodes and clusters of the catalogue, and how any level is read from TOML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// A machine that holds chips: its inner levels, and how several of them are usually joined.
struct CatalogNode {
  std::string name;
  std::vector<std::string> aliases;
  std::string chip;
  std::vector<Level> levels;  ///< innermost first, never empty
  std::optional<Level> nic;   ///< of the fabric between nodes; its size is left at 1
  std::vector<Fact> facts;
};

/// A whole machine as the one line that describes it.
struct CatalogCluster {
  std::string name;
  std::vector<std::string> aliases;
  std::string text;
  std::string source;
};

/// The entry with that name or alias, or null. Later entries win: a user's files come after the
/// built-in ones. @param get from an element of the container to its entry.
template <typename Container, typename Get>
auto find_entry(const Container& entries, std::string_view text, Get get)
    -> decltype(&get(entries[0])) {
  const std::string key = name_key(text);
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    const auto& entry = get(*it);
    if (name_key(entry.name) == key) return &entry;
    for (const std::string& alias : entry.aliases) {
      if (name_key(alias) == key) return &entry;
    }
  }
  return nullptr;
}
inline constexpr auto kItself = [](const auto& entry) -> const auto& { return entry; };
inline constexpr auto kPointee = [](const auto& pointer) -> const auto& { return *pointer; };

/// A level from a TOML table; `level` holds what is not said. Its shape is not completed.
std::optional<Diagnostic> read_level(const TomlFile& file, const toml::table& table,
                                     const toml::table* parent, const Catalog& catalog,
                                     Level& level, std::vector<Fact>& facts);

/// A node from [node.NAME]; its chip must be known to the catalogue.
Result<CatalogNode> read_node(const TomlFile& file, const NamedTable& entry,
                              const Catalog& catalog);

/// The tables of [[...level]], innermost first.
Result<std::vector<Level>> read_levels(const TomlFile& file, const toml::table& parent,
                                       const Catalog& catalog, std::vector<Fact>& facts);

/// A chip from a TOML table: `like = "NAME"` starts from a known one, whose numbers then are assumed. A
/// lower rate of matrix or vector units makes that unit's other rates a must.
Result<Chip> read_chip(const TomlFile& file, const toml::table& table, std::string name,
                       const Catalog& catalog);

/// A number of the built-in catalogue that came without a source.
std::optional<Diagnostic> check_sources(const TomlFile& file, const NamedTable& entry,
                                        const std::vector<Fact>& facts);

}  // namespace flopcast
