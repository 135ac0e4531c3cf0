// Makes a cluster from one line or from a file.
#pragma once

#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/cluster/spoken.h"
#include "hardware/entry/catalog_entry.h"
#include "hardware/entry/set_entry.h"

namespace flopcast::hardware {

class ClusterBuilder {
 public:
  /// @param depth how many files and names led here: they may lead to one another.
  explicit ClusterBuilder(const Catalog& catalog, int depth = 0)
      : catalog_(catalog), depth_(depth) {}

  /// The grammar of docs/reference/cluster.md:
  ///   head {"," part}
  ///   head = [count ("x" | "nodes of" | "chips of")] (node | chip | cluster | file)
  ///   part = fabric [shape] [link] | link | [target "."] key ("=" | " ") value | "chip" name
  Result<Cluster> from_text(std::string_view text);
  /// A cluster file in TOML.
  Result<Cluster> from_toml(const TomlFile& file);

 private:
  using Failure = std::optional<Diagnostic>;

  Failure build_text(std::string_view text);
  Failure build_toml(const TomlFile& file);

  /// A piece of the line and where it starts, from 1.
  struct Part {
    std::string_view text;
    std::size_t column = 1;
  };
  struct Head {
    unsigned count = 1;
    bool counted = false, chips = false;
    Part name, whole;  ///< what is counted; with its count
  };
  std::string where(const Part& part) const;
  Diagnostic error(const Part& part, std::string what, std::string hint) const;

  Failure read_line(std::string_view text);
  Result<Head> parse_head(const Part& part) const;
  void put_head_first(std::vector<Part>& parts);
  bool names_machine(std::string_view text) const;
  Failure start(const Head& head);
  Failure start_node(const Head& head, const CatalogNode& node);
  Failure start_chip(const Head& head, const Chip& chip);
  Failure start_spoken(const Head& head, const SpokenMachine& spoken);
  Failure start_nodes_of(const Head& head, const Chip& chip, unsigned nodes, unsigned per_node);
  Failure start_cluster(const Head& head, const CatalogCluster& cluster);
  Failure start_file(const Head& head, const std::string& path);
  void take_whole(Cluster whole);
  void take_nodes(const CatalogNode& node, unsigned count);

  Failure apply(const Part& part);
  std::optional<Failure> apply_fabric(const Part& part);
  Failure join_by(const Part& part, std::string_view text);
  Failure join_by_link(const Part& part, const Link& link);
  Failure add_level(FabricKind fabric, const Setting& shape);
  Failure add_fit(const std::string& place, std::string_view path,
                  const std::filesystem::path& folder);
  Failure add_fits(const TomlFile& file, const toml::node& named);
  Failure apply_setting(const Part& part, std::string_view key, std::string_view value);
  Failure apply_to_level(const std::string& target, const Setting& setting);
  Failure set_level_of(std::size_t index, const Setting& setting);
  Failure set_current(const Part& part, std::string key, std::string_view value);
  Failure apply_tables(const TomlFile& file);
  Failure set_chip_of(const Setting& setting);
  Failure finish(const std::string& place);
  /// The machine that `make` builds, with the one it would be without overrides where there are any.
  template <typename Make>
  Result<Cluster> with_nominal(Make&& make);

  const CatalogNode* find_node(std::string_view name) const;
  std::vector<std::string> all_names() const;
  Diagnostic unknown_name(const Part& part) const;

  const Catalog& catalog_;
  std::string_view named_chip_;  ///< "h100" of ", chip h100" in the line
  std::string_view line_;
  std::list<std::string> spoken_;  ///< parts whose words were put together
  std::string place_;              ///< of the line, where it stands in a file
  Cluster cluster_;
  const CatalogNode* node_ = nullptr;
  std::size_t current_ = 0;  ///< level that settings without a target change
  bool joinable_ = false;    ///< the next fabric named joins the nodes counted
  bool bare_chip_ = false;   ///< the one level is there for form only
  bool nominal_ = false;     ///< numbers that override others are left out
  bool overrides_ = false;   ///< there were such numbers
  int depth_ = 0;
};

}  // namespace flopcast::hardware
