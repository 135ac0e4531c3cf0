// Pools with their prices: made once, for fleets of any count of replicas and for many runs.
#pragma once

#include "serving/fleet/plan.h"

namespace flopcast::serving {

/// A replica's prices and memory.
struct PricedPool {
  Deployment deployment;
  IterationModel model;
  ServingMemory memory;
};
/// Errors: the first of deployment_problems; serving_memory's; IterationModel::make's.
Result<PricedPool> price_pool(const ReplicaPool& pool, const Catalog& catalog);

/// So many replicas of a pool.
struct PricedReplicas {
  const PricedPool* pool = nullptr;
  unsigned replicas = 1;
};
/// A fleet of these, without autoscaling and faults. The pools, the topology and `options` outlive its runs.
/// @param decode of split fleets; else its pool is null
/// @param topology of the cluster, where the fleet is split
FleetPlan plan_fleet(const PricedReplicas& pool, const PricedReplicas& decode,
                     const Topology* topology, const FleetOptions& options);

}  // namespace flopcast::serving
