// Floor 2, private: which systems measurements are of (catalog/collectives/systems.toml).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace flopcast::network {

class CollectiveSystems {
 public:
  static const CollectiveSystems& builtin();

  /// The name of the system a file calls "gpu / system".
  std::string name_of(std::string_view gpu, std::string_view system) const;
  /// The node a system is made of; empty where nobody said.
  std::string node_of(std::string_view system) const;
  /// What was measured between its nodes went over the network the catalogue's node has.
  bool usual_fabric(std::string_view system) const { return !other_fabric_.contains(system); }
  /// Between its nodes: of one name, one network; "" where it is of the catalogue's common kinds.
  std::string network_of(std::string_view system) const;
  /// The system whose times were published as this one's of the operation (by its name); empty where none were.
  std::string copied_from(std::string_view system, std::string_view op) const;

 private:
  std::map<std::string, std::string, std::less<>> nodes_;     // by system
  std::map<std::string, std::string, std::less<>> names_;     // by "gpu / system"
  std::map<std::string, std::string, std::less<>> networks_;  // by system
  std::set<std::string, std::less<>> other_fabric_;
  std::map<std::pair<std::string, std::string>, std::string> copied_;  // by system and operation
};

}  // namespace flopcast::network
