// Degrees and microbatches of the new run.
#pragma once

#include "flopcast/hardware.h"
#include "whatif/change/structure_change.h"
#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// See the head of this file.
struct NewDegrees {
  std::uint32_t pp = 1;
  std::int64_t microbatches = 1;
  double replicas = 1;             ///< new over recorded: a run may not tell how many it has
  std::optional<Degrees> degrees;  ///< where the recording tells them
  std::vector<std::string> assumed;
};

/// Where a cluster is named and no replicas are, the run fills it and keeps its batch.
/// @param cluster may be null
Result<NewDegrees> find_degrees(const Step& recorded, const StructureChange& change,
                                const Cluster* cluster);

/// How much longer everything takes for more nodes: waiting for the slowest.
double straggler_factor(const std::optional<Degrees>& before, const std::optional<Degrees>& after);

}  // namespace flopcast::whatif::planned
