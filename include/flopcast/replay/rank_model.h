// One rank's recording reduced to what a graph is made of: host threads cut into self-time pieces,
// host calls by what they do, GPU tasks by stream. Times are on the run's common clock.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/trace.h"

namespace flopcast::replaying {

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;  ///< no such thing

/// A stretch of a thread during which one row is innermost.
struct Piece {
  std::uint32_t row = 0;  ///< whose time it is
  Time start, end;        ///< recorded
};

/// A thread that does something that matters.
struct HostThread {
  std::uint32_t track = 0;           ///< index into Trace::tracks
  std::vector<Piece> pieces;         ///< in time order, not overlapping
  std::vector<std::uint32_t> calls;  ///< indices into RankModel::calls, in order
};

/// A call into the runtime or the driver.
struct Call {
  std::uint32_t row = 0;                          ///< of the call
  std::uint32_t thread = 0;                       ///< index into RankModel::threads
  std::uint32_t first_piece = 0, last_piece = 0;  ///< of the thread
  std::uint32_t op = kNoIndex;                    ///< innermost enclosing cpu_op row
  Time start, end;                                ///< recorded
  CallKind kind = CallKind::kOther;               ///< what it makes wait
  std::vector<std::uint32_t> gpu;                 ///< GPU tasks launched
};

/// A kernel, copy or set.
struct GpuTask {
  std::uint32_t row = 0;                ///< of the task
  std::uint32_t stream = 0;             ///< index into RankModel::streams
  std::uint32_t order = 0;              ///< position in its stream
  bool before_window = false;           ///< neither it nor any before it on its stream has a call
  std::uint32_t call = kNoIndex;        ///< launching call
  std::uint32_t collective = kNoIndex;  ///< index into the run's collectives
  Time start, end;                      ///< recorded
  bool communication = false;           ///< a kernel of is_communication_kernel
};

/// A stream of a GPU, or one lane of it.
struct Stream {
  std::int32_t device = 0;  ///< ordinal
  std::int32_t id = 0;      ///< number
  std::int32_t lane = 0;    ///< > 0: rows that overlap lane 0's without being its successors
  std::vector<std::uint32_t> tasks;  ///< by start
};

/// What one rank did.
struct RankModel {
  const Trace* trace = nullptr;       ///< not owned
  std::uint32_t index = 0;            ///< of the trace in its set
  std::int32_t rank = 0;              ///< number of the rank
  Time host_offset, gpu_offset;       ///< added to the trace's own times
  std::vector<HostThread> threads;    ///< by first use
  std::vector<Call> calls;            ///< by start
  std::vector<GpuTask> gpu;           ///< by start
  std::vector<Stream> streams;        ///< by first use
  std::uint64_t polling_threads = 0;  ///< threads left out: they only asked
};

/// How far a kernel may start before its stream predecessor ends without being out of order:
/// programmatic dependent launch reaches 2.1 us in recordings.
inline constexpr Time kInStreamOverlap = Time::from_ns(2500);

/// The model of trace `index`. @param offset added to all of its times.
RankModel make_rank_model(const TraceSet& set, std::uint32_t index, Time offset);

/// Moves the GPU tasks (gpu_offset) or everything of a rank (host_offset) in time.
void shift_gpu(RankModel& rank, Time by);
/// Moves everything of a rank.
void shift_all(RankModel& rank, Time by);

/// Source may end this much after its target starts without contradicting it: clock steps.
Time order_slack(const Trace& trace);

/// When a GPU task was put on its stream: as its call began. Of a task without a call: before the
/// window (Time::min()) if the stream had none with a call before it, else when it started.
Time put_at(const RankModel& rank, std::uint32_t task);

/// Whether a call hands its work over at its end: it lasted long and the work started only then.
bool launches_at_end(const RankModel& rank, const GpuTask& task);

/// Whether the recording has a GPU task start before the call that launched it: no edge then.
bool starts_before_launch(const RankModel& rank, const GpuTask& task);

}  // namespace flopcast::replaying
