// What is kept of a flow.
#pragma once

#include <cstdint>

#include "flopcast/network/flows.h"
#include "network/flow/undo_log.h"
#include "network/rates/numbers.h"

namespace flopcast::network::flow {

/// What events read and write: one cache line.
struct alignas(64) Flow {
  Work offset = 0;  ///< work left at time t is offset - rate * t
  Level level = kInactive;
  std::int64_t rate = 0;
  std::uint64_t latest = kNoChange;  ///< its latest change in the log
  std::uint32_t path = 0, path_size = 0;
  std::uint32_t fraction = kWhole;
  std::uint32_t region = kNone;  ///< its number in the region being solved
  FlowPhase phase = FlowPhase::kWaiting;
  bool background = false;
  bool cancels = false;  ///< its plan has a time for it
  bool noted = false;    ///< among the completions that may have changed
  bool grouped = false;  ///< its last link stands for a fairness group
  bool limited = false;  ///< it has a link of its own

  Work left(Ps time) const { return offset - static_cast<Work>(rate) * time; }
};
static_assert(sizeof(Flow) == 64);

/// What is asked of a flow, and how it goes: two cache lines, the first for what events read.
struct alignas(64) Plan {
  FlowId id = 0;
  std::uint32_t after = kNone;        ///< first edge to what it waits for; kNone: to nothing
  std::uint32_t pending = 0;          ///< how many of them are not done
  std::uint32_t dependents = kNone;   ///< list of the flows that wait for it
  Ps latest = 0;                      ///< completion of those of `after` that are done
  std::uint32_t active_slot = kNone;  ///< among the active flows
  bool latest_known = true;           ///< going back in time forgets it
  Ps start = 0, delay = 0, latency = 0;
  Ps ended = kNever;  ///< without latency

  std::uint32_t after_size = 0;  ///< edges
  Ps started = kNever;
  Ps cancel = kNever;
  Ps reported = kNever;  ///< completion as of the last take_changes()
  std::int64_t bytes = 0;
};

/// Where a flow is to be found: among the flows, or, once nothing can change it any more, here.
struct Outcome {
  std::uint32_t flow = kNone;
  FlowPhase phase = FlowPhase::kWaiting;
  Ps start = kNever, end = kNever;  ///< end: with latency
  double sent = 0;
};

}  // namespace flopcast::network::flow
