// Floor 2, private: a collective as traffic between chips, which becomes macro-flows (level 1) or
// single messages (level 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/collective/schedule.h"
#include "network/collective/shape.h"

namespace flopcast::network {

/// A schedule that chips run, each time on a share of the buffer: several times side by side.
struct MessagePlan {
  Schedule schedule;
  std::vector<std::vector<std::uint32_t>> runs;  ///< of each: chip of each rank of the schedule
  double share() const { return 1.0 / static_cast<double>(runs.size()); }  ///< of the buffer
};

/// Messages of equal size that go at the same time: one variable of the flow simulator.
struct TrafficPhase {
  std::vector<Topology::Message> messages;
  double bytes = 0;             ///< what each sends until the phase ends
  std::uint32_t latencies = 1;  ///< message latencies in a row
  /// Not 0: the first so many messages are a ring whose edges differ in latency; once around costs
  /// all of them but the slowest, `latencies` times over (the dual network's form).
  std::uint32_t ring = 0;
};

/// The algorithm the flows follow: the query's; for kAuto the fastest usual one.
CollectiveAlgorithm traffic_algorithm(const GroupShape& shape, const CollectiveQuery& query);

/// @param members chips in order of rank; the first is the root.
Result<MessagePlan> plan_messages(const GroupShape& shape, std::span<const std::uint32_t> members,
                                  const CollectiveQuery& query, CollectiveAlgorithm algorithm,
                                  Detail detail);
/// Phases one after the other; equal neighbours are one.
Result<std::vector<TrafficPhase>> plan_traffic(const GroupShape& shape,
                                               std::span<const std::uint32_t> members,
                                               const CollectiveQuery& query,
                                               CollectiveAlgorithm algorithm);

}  // namespace flopcast::network
