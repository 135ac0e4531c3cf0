// Clusters that were not read but made by hand.
#include <fmt/format.h>

#include "flopcast/hardware.h"
#include "hardware/cluster/fabric_graph.h"
#include "hardware/cluster/levels.h"

namespace flopcast {

using namespace hardware;  // the room's own names

namespace {

/// A number of the chip's that is neither left out nor within what there is.
std::optional<Diagnostic> check_chip(const Chip& chip) {
  const auto wrong = [&](double value, const Limits& limits, UnitKind kind,
                         std::string_view what) -> std::optional<Diagnostic> {
    if (value == 0) return std::nullopt;
    auto problem = outside(limits, value, kind, quantity_text(value, kind));
    if (problem) problem->where = fmt::format("chip {}, {}", chip.name, what);
    return problem;
  };
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    for (const auto* rates : {&chip.matrix, &chip.vector}) {
      if (auto problem = wrong((*rates)[i].value, kRateLimits, UnitKind::kFlopsPerSecond,
                               name(static_cast<DataType>(i)))) {
        return problem;
      }
    }
  }
  if (auto problem = wrong(chip.hbm_bandwidth.value, kBandwidthLimits, UnitKind::kBytesPerSecond,
                           "hbm_bandwidth")) {
    return problem;
  }
  return wrong(chip.hbm_capacity.value, kCapacityLimits, UnitKind::kBytes, "hbm_capacity");
}

}  // namespace

Result<Cluster> complete_cluster(Cluster cluster) {
  for (Level& level : cluster.levels) {
    if (auto failure = complete_shape(level, cluster.name)) return *failure;
  }
  if (auto failure = check_chip(cluster.chip)) return *failure;
  if (auto failure = check_levels(cluster, cluster.name)) return *failure;
  if (cluster.graph) {
    if (auto failure = check_graph(*cluster.graph, cluster.name)) return *failure;
  }
  return cluster;
}

}  // namespace flopcast
