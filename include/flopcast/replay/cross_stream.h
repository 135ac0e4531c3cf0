// GPU→GPU dependencies between streams of one rank, from event calls.
//
// Runtime rows name neither event nor stream (notes in docs/theory/replay.md), so the edge behind a
// cudaStreamWaitEvent is found by the first of these that applies:
//   1. A cuda_sync row with the wait's correlation says stream and record.
//   2. The wait is part of a collective's launch. Before it: an edge from the launching thread's
//      last work to the collective. Right after it: NCCL's own, without effect outside NCCL.
//   3. The wait is inside a work.wait() that names a sequence number.
//   4. A record stands directly before it: from the last work before the record.
//   5. A lone wait. First in, first out among the collectives nobody waited for: of the group just
//      launched on, if any; wait_tensor takes the newest. Outside collectives: another stream's
//      last work. If that leaves the target late and something else ended just before it, that.
//
// Rows of one graph launch are held by the latest row of another stream that ended before them. A
// task still late after all this, without any wait call, found the SMs full: the kernel that ran
// meanwhile holds it back until its last wave (an occupancy edge; it counts from the kernel's
// start, because the tail overlaps). A candidate that the recording contradicts (its source ends
// after its target starts) is dropped.
#pragma once

#include <string>
#include <vector>

#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// A dependency between streams.
struct GpuEdge {
  std::uint32_t source = 0, target = 0;  ///< indices into RankModel::gpu
  EdgeKind kind = EdgeKind::kEvent;      ///< how it was found
  bool added = false;  ///< by a change: no lag of it was recorded, its kind's typical one is meant
};

/// Contradicted candidates of one kind.
struct Contradictions {
  std::uint64_t count = 0;  ///< how many
  std::string example;      ///< the first
  /// Counts one more.
  void add(std::string text) {
    if (count++ == 0) example = std::move(text);
  }
};

/// Those of one rank.
struct CrossStream {
  std::vector<GpuEdge> edges;      ///< by target, then source; no duplicates
  Contradictions event, inferred;  ///< candidates that were dropped
  std::uint64_t nccl_own = 0;      ///< waits of NCCL itself, without effect
  std::uint64_t same_stream = 0;   ///< waits for work of the target's own stream
  std::uint64_t unresolved = 0;    ///< waits whose source is unknown
};

/// Finds them. @param launch_latency the rank's smallest: tells which targets are late.
CrossStream find_cross_stream(const TraceSet& set, const RankModel& rank, Time launch_latency);

/// More than this after everything that explains it, a task is late.
inline constexpr Time kLate = Time::from_us(15);

}  // namespace flopcast::replaying
