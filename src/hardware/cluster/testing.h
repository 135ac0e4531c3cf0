// What every reader of clusters promises, for its fuzz target.
#pragma once

#include <cmath>

#include "flopcast/hardware.h"
#include "support/fuzz_target.h"

namespace flopcast::hardware {

/// A cluster that holds together, or a mistake in words.
inline void check_cluster(const Result<Cluster>& cluster) {
  using test::check;
  if (!cluster) {
    check(!cluster.error().what.empty() && !cluster.error().where.empty());
    return;
  }
  check(!cluster->levels.empty() && cluster->node_levels >= 1);
  check(cluster->node_levels <= cluster->levels.size());
  check(cluster->chips() >= 1 && cluster->chips() <= 1U << 24);
  check(cluster->chips() % cluster->chips_per_node() == 0);
  for (const Level& level : cluster->levels) {
    check(level.size == 1 || level.port_bandwidth.value > 0);
    check(std::isfinite(level.port_bandwidth.value) && std::isfinite(level.latency.value));
    check(!level.shape.empty() && level.neighbours() >= 1);
  }
}

}  // namespace flopcast::hardware
