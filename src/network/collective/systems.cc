#include "network/collective/systems.h"

#include <cctype>
#include <string>
#include "base/text/toml.h"

#include "catalog_files.h"

namespace flopcast::network {

const CollectiveSystems& CollectiveSystems::builtin() {
  static const CollectiveSystems systems = [] {
    CollectiveSystems made;
    const toml::parse_result parsed = toml::parse(catalog_data::collectives_systems_toml());
    if (!parsed) return made;  // compiled in; a test reads every entry
    const toml::table* all = parsed.table()["system"].as_table();
    if (all == nullptr) return made;
    for (const auto& [name, entry] : *all) {
      const toml::table* table = entry.as_table();
      if (table == nullptr) continue;
      const std::string system(name.str());
      if ((*table)["other_fabric"].value_or(false)) made.other_fabric_.insert(system);
      if (auto network = (*table)["network"].value<std::string>())
        made.networks_[system] = *network;
      made.nodes_[system] = (*table)["node"].value_or(std::string());
      if (const toml::table* copied = (*table)["copied"].as_table()) {
        for (const auto& [op, from] : *copied) {
          made.copied_[{system, std::string(op.str())}] = from.value_or(std::string());
        }
      }
      const toml::array* names = (*table)["names"].as_array();
      for (std::size_t i = 0; names != nullptr && i < names->size(); ++i) {
        made.names_[(*names)[i].value_or(std::string())] = system;
      }
    }
    return made;
  }();
  return systems;
}

std::string CollectiveSystems::name_of(std::string_view gpu, std::string_view system) const {
  std::string both(gpu);
  both += " / ";
  both += system;
  if (const auto known = names_.find(both); known != names_.end()) return known->second;
  // Only what a TOML key or a file name can hold.
  std::string plain;
  for (const char c : both) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (kept) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!kept && !plain.empty() && plain.back() != '_') plain += '_';
  }
  while (!plain.empty() && plain.back() == '_') plain.pop_back();
  return plain;
}

std::string CollectiveSystems::node_of(std::string_view system) const {
  const auto known = nodes_.find(system);
  return known == nodes_.end() ? std::string() : known->second;
}

std::string CollectiveSystems::network_of(std::string_view system) const {
  if (const auto named = networks_.find(system); named != networks_.end()) return named->second;
  return usual_fabric(system) ? std::string() : std::string(system);
}

std::string CollectiveSystems::copied_from(std::string_view system, std::string_view op) const {
  const auto known = copied_.find({std::string(system), std::string(op)});
  return known == copied_.end() ? std::string() : known->second;
}

}  // namespace flopcast::network
