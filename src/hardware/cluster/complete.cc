// Clusters that were not read but made by hand.
#include "flopcast/hardware.h"
#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"

namespace flopcast {

using namespace hardware;  // the room's own names

Result<Cluster> complete_cluster(Cluster cluster) {
  for (Level& level : cluster.levels) {
    if (auto failure = complete_shape(level, cluster.name)) return *failure;
  }
  if (auto failure = check_levels(cluster, cluster.name)) return *failure;
  if (cluster.graph) {
    if (auto failure = check_graph(*cluster.graph, cluster.name)) return *failure;
  }
  return cluster;
}

}  // namespace flopcast
