// Dependencies that end on a host thread: synchronisation (GPU→CPU) and hand-over between threads.
#pragma once

#include <string>
#include <vector>

#include "flopcast/replay/cross_stream.h"
#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// What a host call waits for.
struct SyncWait {
  std::uint32_t call = 0;              ///< index into RankModel::calls
  std::vector<std::uint32_t> streams;  ///< whatever is last on them when the call is reached
  std::vector<std::uint32_t> tasks;    ///< known beforehand (an event's record, a blocking copy)
  bool blocked = false;         ///< the recording waited: a source ended after the call began
  bool host_remainder = false;  ///< what follows the wait is host work (cudaFree), kept as recorded
  /// Recorded: end of the call since the last source's end, if it blocked or not; 0 without any.
  Time after;
};

/// A launch that cannot return while the queue of its stream is full: until the task that many
/// places before its own has ended. Of launches that the recording shows to wait there is a
/// SyncWait instead.
struct QueuePlace {
  std::uint32_t task = 0;               ///< index into RankModel::gpu: must have ended
  std::uint32_t thread = 0, piece = 0;  ///< what follows the launch
};

/// Those of one rank.
struct SyncWaits {
  std::vector<SyncWait> waits;    ///< by call
  Contradictions contradicted;    ///< sources that ended after their call
  std::vector<QueuePlace> queue;  ///< where the recording shows how many launches a queue holds
  std::uint64_t without_source =
      0;  ///< calls that waited for nothing the trace shows: kept as host time
};
/// Finds them.
SyncWaits find_sync_waits(const TraceSet& set, const RankModel& rank);

/// A thread without rows for longer than this may have been waiting for another thread.
inline constexpr Time kSignificantGap = Time::from_us(50);

/// A thread idle until another thread's point: the backward thread starts when the forward one
/// hands over.
struct ThreadEdge {
  std::uint32_t from_thread = 0, from_piece = 0;  ///< after the end of this piece
  std::uint32_t to_thread = 0, to_piece = 0;      ///< this one starts
  /// The target waited for it: its gap is not host time. False for a fwdbwd flow, which only
  /// orders.
  bool hand_over = true;
};
/// From significant gaps, then from fwdbwd flows.
std::vector<ThreadEdge> find_thread_edges(const RankModel& rank);

}  // namespace flopcast::replaying
