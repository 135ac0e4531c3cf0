// What a measured case is, for those who forecast it.
#include "flopcast/network/fit.h"
#include "network/collective/shape.h"
#include "network/collective/systems.h"
#include "network/fit/bands.h"

namespace flopcast {

std::string node_of_system(std::string_view system) {
  return network::CollectiveSystems::builtin().node_of(system);
}

Result<std::vector<std::uint32_t>> chips_of_case(const Cluster& cluster,
                                                 const CollectiveCase& what) {
  return network::first_chips_of_nodes(cluster, what.ranks, what.nodes);
}

std::string_view collective_size_class(Bytes size) {
  return network::size_class_name(network::size_class(size.value));
}

}  // namespace flopcast
