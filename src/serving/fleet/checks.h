// What makes no sense of a fleet.
#pragma once

#include <optional>

#include "flopcast/serving/fleet.h"

namespace flopcast::serving {

/// Errors (kUsage): no replicas, more chips than the cluster has, faults of replicas there are not, autoscaling
/// that goes nowhere, of split fleets.
std::optional<Diagnostic> wrong_fleet(const Fleet& fleet);
/// The most replicas of the pool there are at a time.
unsigned most_replicas(const Fleet& fleet);

}  // namespace flopcast::serving
