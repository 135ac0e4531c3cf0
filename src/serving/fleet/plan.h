// A fleet as its simulation sees it: engines are made by whoever has the prices.
#pragma once

#include <optional>
#include <vector>

#include "flopcast/network.h"
#include "flopcast/serving/fleet.h"
#include "serving/fleet/engine.h"

namespace flopcast::serving {

/// Replicas alike.
struct PoolPlan {
  unsigned replicas = 1;  ///< the most there are at a time
  Time front, back;       ///< of IterationModel
  EngineMaker make;
};

/// How keys and values get from a pool that computes prompts to one that makes answers.
struct TransferPlan {
  const Topology* topology = nullptr;
  ServingLayout from, to;        ///< of a replica of each pool
  unsigned first_from = 0;       ///< the first chip of the pool that computes prompts
  unsigned first_to = 0;         ///< and of the other one
  double bytes_per_token = 0;    ///< that a chip of `to` keeps of a prompt's token
  double bytes_per_request = 0;  ///< and of a request, however long
};

/// All of it.
struct FleetPlan {
  PoolPlan pool;
  std::optional<PoolPlan> decode;
  TransferPlan transfers;  ///< only with `decode`
  Router router = Router::kLeastLoaded;
  std::optional<Autoscaling> autoscaling;
  std::vector<ReplicaFault> faults;
  bool in_step = false;  ///< no replica runs ahead of others: the same answers, for tests
  unsigned replicas() const { return pool.replicas + (decode ? decode->replicas : 0); }
};

}  // namespace flopcast::serving
