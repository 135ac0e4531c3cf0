#include "hardware/cluster/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/files/input_file.h"
#include "base/files/read_file.h"
#include "hardware/cluster/builder.h"
#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"
#include "hardware/cluster/network_readers.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kEndings = {".toml", ".yml", ".yaml", ".xml", ".txt"};

namespace {

/// What the ending says; where it says nothing, as of standard input, the text.
std::string_view format_of(std::string_view name, std::string_view text) {
  for (const std::string_view ending : kEndings) {
    if (name.ends_with(ending)) return ending;
  }
  if (text.find_first_not_of(" \t\r\n") == text.find('<')) return ".xml";
  return text.find('=') != std::string_view::npos   ? ".toml"
         : text.find(':') != std::string_view::npos ? ".yml"
                                                    : ".txt";
}

}  // namespace

bool looks_like_file(std::string_view name) {
  if (name == kStandardInput) return true;
  for (const std::string_view ending : kEndings) {
    if (name.ends_with(ending)) return true;
  }
  std::error_code ignored;
  return name.find('/') != std::string_view::npos || fs::is_regular_file(fs::path(name), ignored);
}

Result<Cluster> read_cluster_file(const Catalog& catalog, const std::string& path, unsigned count,
                                  std::string_view chip, int depth) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  if (is_smi_topology(*text)) return read_smi_topology(*text, path, count, chip, catalog);
  const std::string_view format = format_of(path, *text);
  if (format == ".xml") return read_nccl_topology(*text, path, count, catalog);
  if (count > 1) {
    return Diagnostic{ErrorCode::kBadInput, path, "describes a whole cluster, not a node",
                      "name it without a count"};
  }
  if (format == ".yml" || format == ".yaml") return read_astra_network(*text, path);
  if (format != ".toml") return read_simai_topology(*text, path, catalog);
  const Result<TomlFile> file = parse_toml(*text, path, false);
  if (!file) return file.error();
  return ClusterBuilder(catalog, depth + 1).from_toml(*file);
}

ClusterBuilder::Failure ClusterBuilder::build_toml(const TomlFile& file) {
  const toml::table& root = file.root;
  if (const toml::node* line = root.get("cluster")) {
    const auto* text = line->as_string();
    if (text == nullptr) {
      return Diagnostic{ErrorCode::kBadInput, place(file, *line), "cluster: expected a text",
                        "write cluster = \"8 x dgx-h100\""};
    }
    place_ = place(file, *line);
    if (auto failure = read_line(text->get())) return failure;
  } else {
    Result<std::vector<Level>> levels = read_levels(file, root, catalog_, cluster_.facts);
    if (!levels) return levels.error();
    cluster_.levels = std::move(*levels);
  }
  if (const toml::node* graph = root.get("graph")) {
    Result<FabricGraph> read = read_graph_table(file, *graph);
    if (!read) return read.error();
    if (cluster_.levels.empty()) cluster_.levels = {level_of(*read)};
    cluster_.graph = std::move(*read);
  }
  if (cluster_.levels.empty()) {
    return Diagnostic{ErrorCode::kBadInput, file.name, "the file describes no cluster",
                      "give cluster = \"8 x dgx-h100\", or chip and [[level]]"};
  }
  cluster_.name = file.name;
  if (auto failure = apply_tables(file)) return failure;
  return finish(file.name);
}

/// fit = "mine.toml", or several in a list: beside the file, where their paths do not start at the root.
ClusterBuilder::Failure ClusterBuilder::add_fits(const TomlFile& file, const toml::node& named) {
  const fs::path folder = fs::path(file.name).parent_path();
  const auto add = [&](const toml::node& node) -> Failure {
    if (const auto* text = node.as_string()) return add_fit(place(file, node), text->get(), folder);
    return Diagnostic{ErrorCode::kBadInput, place(file, node), "fit: expected the name of a file",
                      "write fit = \"mine.toml\", or a list of names"};
  };
  const toml::array* list = named.as_array();
  if (list == nullptr) return add(named);
  for (const toml::node& node : *list) {
    if (auto failure = add(node)) return failure;
  }
  return std::nullopt;
}

/// name = "...", chip = "..." or [chip], and one table of settings for each level named.
ClusterBuilder::Failure ClusterBuilder::apply_tables(const TomlFile& file) {
  for (const auto& [key, node] : file.root) {
    const std::string target(key.str());
    if (target == "cluster" || target == "level" || target == "sources" || target == "graph") {
      continue;
    }
    if (target == "fit") {
      if (auto failure = add_fits(file, node)) return failure;
      continue;
    }
    const auto* text = node.as_string();
    if (target == "name" && text != nullptr) {
      cluster_.name = text->get();
      continue;
    }
    Result<std::vector<Setting>> settings = std::vector<Setting>{};
    if (target == "chip" && text != nullptr) {
      Result<Chip> chip = catalog_.chip(text->get());
      if (!chip) {
        return Diagnostic{ErrorCode::kBadInput, place(file, node), chip.error().what,
                          chip.error().hint};
      }
      cluster_.chip = std::move(*chip);
      continue;
    }
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return Diagnostic{
          ErrorCode::kBadInput, place(file, node), fmt::format("a cluster has no '{}'", target),
          "known are cluster, name, fit, chip, [[level]], [graph], [sources] and a table for "
          "each level, like [fabric]"};
    }
    if (target == "chip" && (table->get("like") != nullptr || table->get("name") != nullptr)) {
      const std::string name = (*table)["name"].value_or(std::string("chip"));
      Result<Chip> chip = read_chip(file, *table, name, catalog_);
      if (!chip) return chip.error();
      if (auto failure = find_host_bandwidth(*chip, catalog_)) return failure;
      if (table->get("like") != nullptr) {
        overrides_ = true;
        // What it is like was found a line above.
        if (nominal_) chip = catalog_.chip((*table)["like"].value_or(std::string()));
      }
      cluster_.chip = std::move(*chip);
      continue;
    }
    settings = settings_of(file, *table);
    if (!settings) return settings.error();
    for (const Setting& setting : *settings) {
      const auto failure =
          target == "chip" ? set_chip_of(setting) : apply_to_level(target, setting);
      if (failure) return failure;
    }
  }
  return std::nullopt;
}

}  // namespace flopcast::hardware
