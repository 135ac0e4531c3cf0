#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/files/read_file.h"
#include "base/text/names.h"
#include "catalog_files.h"
#include "flopcast/hardware.h"
#include "hardware/cluster/builder.h"
#include "hardware/entry/catalog_entry.h"
#include "hardware/entry/set_entry.h"

namespace flopcast {

using namespace hardware;  // the room's own names

namespace {

namespace fs = std::filesystem;

template <typename Entry>
Result<Entry> look_up(const std::vector<Entry>& entries, std::string_view text,
                      std::string_view kind, std::string_view section) {
  if (const Entry* found = find_entry(entries, text, kItself)) return *found;
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  return Diagnostic{
      ErrorCode::kBadInput, "", fmt::format("no {} is called '{}'", kind, trim(text)),
      did_you_mean(text, names, fmt::format("flopcast hw list {} names them all", section))};
}

/// An entry of the same name is replaced in place, so that lists keep their order.
template <typename Entry, typename Get>
void put(std::vector<Entry>& entries, Entry entry, Get get) {
  for (Entry& known : entries) {
    if (name_key(get(known).name) == name_key(get(entry).name)) {
      known = std::move(entry);
      return;
    }
  }
  entries.push_back(std::move(entry));
}

std::vector<fs::path> toml_files(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

constexpr std::string_view kGroups[] = {"sources", "chip",         "memory", "link",
                                        "node",    "interconnect", "cluster"};

/// Reads files into a catalogue: chips and links of all of them first, then what is made of those.
class CatalogLoader {
 public:
  explicit CatalogLoader(Catalog& catalog) : catalog_(catalog) {}

  std::optional<Diagnostic> add(std::string_view text, std::string name, bool sources_required) {
    Result<TomlFile> file = parse_toml(text, std::move(name), sources_required);
    if (!file) return file.error();
    for (const auto& [key, node] : file->root) {
      if (std::find(std::begin(kGroups), std::end(kGroups), key.str()) != std::end(kGroups)) {
        continue;
      }
      return Diagnostic{
          ErrorCode::kBadInput, place(*file, node),
          fmt::format("a catalogue has no '{}'", key.str()),
          "known are [sources], [chip.NAME], [memory.NAME], [link.NAME], [interconnect.NAME], "
          "[node.NAME], [cluster.NAME]"};
    }
    if (auto error = add_chips(*file)) return error;
    if (auto error = add_settings(*file, "link", catalog_.links_, set_link)) return error;
    if (auto error = add_settings(*file, "memory", catalog_.memories_, set_memory)) return error;
    if (auto error =
            add_settings(*file, "interconnect", catalog_.interconnects_, set_interconnect)) {
      return error;
    }
    files_.push_back(std::move(*file));
    return std::nullopt;
  }

  std::optional<Diagnostic> finish() {
    for (Chip& chip : catalog_.chips_) {
      if (auto error = find_host_bandwidth(chip, catalog_)) return error;
    }
    for (const TomlFile& file : files_) {
      if (auto error = add_nodes(file)) return error;
      if (auto error = add_clusters(file)) return error;
    }
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> add_chips(const TomlFile& file) {
    const Result<std::vector<NamedTable>> tables = tables_of(file, "chip");
    if (!tables) return tables.error();
    for (const NamedTable& entry : *tables) {
      Result<Chip> chip = read_chip(file, *entry.table, entry.name, catalog_);
      if (!chip) return chip.error();
      if (auto error = check_sources(file, entry, chip->facts)) return error;
      put(catalog_.chips_, std::move(*chip), kItself);
    }
    return std::nullopt;
  }

  /// Entries that are nothing but their settings.
  template <typename Entry>
  std::optional<Diagnostic> add_settings(const TomlFile& file, std::string_view group,
                                         std::vector<Entry>& entries,
                                         std::optional<Diagnostic> (*set)(Entry&, const Setting&)) {
    const Result<std::vector<NamedTable>> tables = tables_of(file, group);
    if (!tables) return tables.error();
    for (const NamedTable& entry : *tables) {
      const Result<std::vector<Setting>> settings = settings_of(file, *entry.table);
      if (!settings) return settings.error();
      Entry made;
      made.name = entry.name;
      for (const Setting& setting : *settings) {
        if (auto error = set(made, setting)) return error;
      }
      if (auto error = check_sources(file, entry, made.facts)) return error;
      put(entries, std::move(made), kItself);
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> add_nodes(const TomlFile& file) {
    const Result<std::vector<NamedTable>> tables = tables_of(file, "node");
    if (!tables) return tables.error();
    for (const NamedTable& entry : *tables) {
      Result<CatalogNode> node = read_node(file, entry, catalog_);
      if (!node) return node.error();
      if (auto error = check_sources(file, entry, node->facts)) return error;
      put(catalog_.nodes_, std::make_shared<const CatalogNode>(std::move(*node)), kPointee);
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> add_clusters(const TomlFile& file) {
    const Result<std::vector<NamedTable>> tables = tables_of(file, "cluster");
    if (!tables) return tables.error();
    for (const NamedTable& entry : *tables) {
      const Result<std::vector<Setting>> settings = settings_of(file, *entry.table);
      if (!settings) return settings.error();
      CatalogCluster cluster;
      cluster.name = entry.name;
      for (const Setting& setting : *settings) {
        cluster.source = setting.source;
        if (setting.key == "aliases") {
          cluster.aliases = setting.values;
        } else if (setting.key == "is") {
          cluster.text = setting.value;
        } else {
          return unknown_key(setting, "a cluster of the catalogue", {"is", "aliases"});
        }
      }
      put(catalog_.clusters_, std::make_shared<const CatalogCluster>(std::move(cluster)), kPointee);
    }
    return std::nullopt;
  }

  Catalog& catalog_;
  std::vector<TomlFile> files_;
};

Result<Catalog> Catalog::load(const std::vector<fs::path>& extra) {
  Catalog catalog;
  CatalogLoader loader(catalog);
  for (const CatalogFile& file : catalog_files()) {
    // Folders hold other rooms' tables.
    if (file.path.find('/') != std::string_view::npos) continue;
    if (auto error = loader.add(file.text, "catalog/" + std::string(file.path), true))
      return *error;
  }
  for (const fs::path& path : extra) {
    for (const fs::path& file : toml_files(path)) {
      const Result<std::string> text = read_file(file);
      if (!text) return text.error();
      if (auto error = loader.add(*text, file.string(), false)) return *error;
    }
  }
  if (auto error = loader.finish()) return *error;
  return catalog;
}

const Catalog& Catalog::builtin() {
  static const Catalog catalog = [] {
    // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
    Result<Catalog> loaded = load();
    return loaded ? std::move(*loaded) : Catalog();
  }();
  return catalog;
}

Result<Chip> Catalog::chip(std::string_view name) const {
  return look_up(chips_, name, "chip", "chips");
}
Result<Link> Catalog::link(std::string_view name) const {
  return look_up(links_, name, "link", "links");
}
Result<MemoryTechnology> Catalog::memory(std::string_view name) const {
  return look_up(memories_, name, "memory technology", "memories");
}
Result<InterconnectTechnology> Catalog::interconnect(std::string_view name) const {
  return look_up(interconnects_, name, "interconnect technology", "interconnects");
}

Result<Cluster> Catalog::cluster(std::string_view text) const {
  return ClusterBuilder(*this).from_text(text);
}

std::vector<std::string> Catalog::node_names() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_) names.push_back(node->name);
  return names;
}

std::vector<std::string> Catalog::cluster_names() const {
  std::vector<std::string> names;
  for (const auto& cluster : clusters_) names.push_back(cluster->name);
  return names;
}

}  // namespace flopcast
