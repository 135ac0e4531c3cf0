// What a fleet needs of a replica: Replica, or what a test puts in its place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flopcast/serving/gaps.h"
#include "flopcast/serving/replica.h"

namespace flopcast::serving {

/// The functions of Replica with their meanings there.
class FleetEngine {
 public:
  virtual ~FleetEngine() = default;
  virtual std::optional<Diagnostic> submit(const ReplicaRequest& request, Time at) = 0;
  virtual Time next() const = 0;
  virtual void advance(Time until, std::vector<ReplicaEvent>& events) = 0;
  virtual void cancel(std::uint32_t id) = 0;
  virtual std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                                     std::int64_t prefix_block) const = 0;
  virtual const ReplicaCounts& counts() const = 0;
  virtual std::span<const IterationSample> samples() const = 0;
};

/// Makes an idle one that counts its gaps between tokens there, where that is not null.
using EngineMaker = std::function<std::unique_ptr<FleetEngine>(TokenGaps*)>;

}  // namespace flopcast::serving
