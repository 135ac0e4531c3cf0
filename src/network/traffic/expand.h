// Floor 2, private: a collective as traffic between chips, which becomes macro-flows (level 1) or
// single messages (level 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/collective/schedule.h"
#include "network/collective/shape.h"

namespace flopcast::network {

/// A schedule that chips run on their share of the buffer. Several run side by side.
struct MessagePlan {
  Schedule schedule;
  std::vector<std::uint32_t> members;  ///< chip of each rank of the schedule
  double share = 1;                    ///< of the buffer
};

/// Messages of equal size that go at the same time: one variable of the flow simulator.
struct TrafficPhase {
  struct Message {
    std::uint32_t src = 0, dst = 0;  ///< chips
    bool operator==(const Message&) const = default;
  };
  std::vector<Message> messages;
  double bytes = 0;             ///< what each sends until the phase ends
  std::uint32_t latencies = 1;  ///< message latencies in a row
  /// Not 0: the first so many messages are a ring whose edges differ in latency; once around costs
  /// all of them but the slowest, `latencies` times over (the dual network's form).
  std::uint32_t ring = 0;
};

/// The algorithm the flows follow: the query's; for kAuto the fastest usual one.
CollectiveAlgorithm traffic_algorithm(const GroupShape& shape, const CollectiveQuery& query);

/// @param members chips in order of rank; the first is the root.
Result<std::vector<MessagePlan>> plan_messages(const GroupShape& shape,
                                               std::span<const std::uint32_t> members,
                                               const CollectiveQuery& query,
                                               CollectiveAlgorithm algorithm, Detail detail);
/// Phases one after the other; equal neighbours are one.
Result<std::vector<TrafficPhase>> plan_traffic(const GroupShape& shape,
                                               std::span<const std::uint32_t> members,
                                               const CollectiveQuery& query,
                                               CollectiveAlgorithm algorithm);

}  // namespace flopcast::network
