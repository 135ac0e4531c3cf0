// A TOML file as settings with their places and sources.
//
//   [sources]                      short names for what numbers rest on
//   datasheet = "NVIDIA H100 datasheet, 2023"
//   [chip.h100-sxm]
//   source = "datasheet"           of every number of the entry without one of its own
//   cores = 132
//   power_w = { value = 700, source = "...", basis = "assumed" }
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/setting.h"
#include "base/text/toml.h"

namespace flopcast {

struct TomlFile {
  std::string name;
  toml::table root;
  std::map<std::string, std::string, std::less<>> sources;
  bool sources_required =
      false;  ///< the built-in catalogue: a number without a source is a mistake
};
Result<TomlFile> parse_toml(std::string_view text, std::string name, bool sources_required);

/// "cluster.toml:7:3".
std::string place(const TomlFile& file, const toml::node& node);

/// One table's values in the order of the file, dotted where tables are nested. Members that are
/// arrays of tables, and those named in `skip`, are left to the caller.
/// @param parent whose source holds where the table has none of its own.
Result<std::vector<Setting>> settings_of(const TomlFile& file, const toml::table& table,
                                         const std::vector<std::string_view>& skip = {},
                                         const toml::table* parent = nullptr);

/// The members of a table that must be tables themselves, in the order of the file.
struct NamedTable {
  std::string name;
  const toml::table* table = nullptr;
};
Result<std::vector<NamedTable>> tables_of(const TomlFile& file, std::string_view group);

/// Lines by dotted key: "model.layers".
using TomlLines = std::map<std::string, unsigned, std::less<>>;
/// A value as JSON, for readers that take either: tables in the order of their keys; null for dates and times, which JSON
/// lacks.
/// @param lines null, or takes the line of each value
nlohmann::ordered_json toml_json(const toml::node& node, TomlLines* lines = nullptr);

}  // namespace flopcast
