// Stretches: what a program is put together from. A stretch is the work of one segment of a rank's
// program (a layer's forward, an exchange, a gradient bucket, the optimizer) as all its copies have
// it in common: pieces of the host, the calls among them, the GPU tasks they launch, and what these
// wait for, by position. Times are samples over copies, freed of the speed of the rank they ran on.
//
// What a task waits for on another stream is told by position: the task that was launched last but
// `back` on that stream before this one. An event orders exactly that: what a stream held when it
// was recorded. An exchange and a bucket bring their own waits both ways, because the stretches
// around them have these waits in some copies and not in others:
//   in   this task waits for the last but `back` on another stream
//   out  the next task launched on another stream, in whatever stretch, waits for this one
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "whatif/structure/recorded/ranks.h"
#include "whatif/structure/recorded/samples.h"

namespace flopcast::whatif::structure {

/// A stream of a GPU by its number; rows that overlap others of a stream have one of their own.
using StreamKey = std::int64_t;
StreamKey stream_key(const replaying::Stream& stream);

/// A recorded row.
struct RowRef {
  std::uint32_t rank = 0, row = 0;
};
/// A row of a stretch's host work.
struct StretchRow {
  RowRef row;
  std::uint32_t parent = replaying::kNoIndex;  ///< the row around it: index into Stretch::rows
};

/// What a task waits for.
struct WaitIn {
  StreamKey stream = 0;
  std::uint32_t back = 0;  ///< 0: the last launched on it
  EdgeKind kind = EdgeKind::kEvent;
};
/// What waits for a task: the next on `stream`.
struct WaitOut {
  StreamKey stream = 0;
  EdgeKind kind = EdgeKind::kEvent;
};

/// A GPU task.
struct StretchTask {
  RowRef row;
  std::uint32_t call = 0;  ///< index into Stretch::calls
  StreamKey stream = 0;
  bool communication = false;
  /// Of a collective with ranks that were recorded: in what they differ. 0: of none.
  DimensionSet group = 0;
  std::int64_t bytes = 0;  ///< of a collective, on one rank; 0 where unknown
  Samples time;            ///< of a collective: its transfer
  std::vector<WaitIn> in;
  std::vector<WaitOut> out;
};

/// A piece of host time.
struct StretchPiece {
  std::uint32_t row = 0;  ///< index into Stretch::rows
  Samples time, gap;      ///< gap: host time before it; of the first: where no thread hands over
};

/// What a call waits for.
struct StretchWait {
  std::vector<StreamKey> streams;  ///< whatever is last on them
  std::vector<WaitIn> tasks;       ///< these
  bool own_tasks = false;          ///< what the call itself launches: a blocking copy
  bool host_remainder = false;
  Samples after;  ///< from the end of what is waited for to the end of the call
};

/// A call of the host.
struct StretchCall {
  std::uint32_t row = 0;                          ///< index into Stretch::rows
  std::uint32_t op = replaying::kNoIndex;         ///< likewise, the operator around it
  std::uint32_t first_piece = 0, last_piece = 0;  ///< index into Stretch::pieces
  CallKind kind = CallKind::kOther;
  std::vector<std::uint32_t> tasks;  ///< launched
  std::vector<StretchWait> wait;     ///< none or one
};

/// Messages between stages: one way, or both in one.
enum class MessageWay : std::uint8_t { kSend, kReceive, kBoth };

/// Which stretches are copies of each other.
struct StretchKey {
  Pass pass = Pass::kOther;
  UnitPart part = UnitPart::kRest;
  bool bucket = false;        ///< a reduction of gradients, cut out of the segment around it
  bool recomputes = false;    ///< of the unit
  std::uint64_t kernels = 0;  ///< hash of what runs, where, with whom
  auto operator<=>(const StretchKey&) const = default;
};

/// See the head of this file.
struct Stretch {
  StretchKey key;
  std::uint32_t thread = 0;      ///< 0: the thread that launches first in a step
  std::vector<StretchRow> rows;  ///< of pieces and calls
  std::vector<StretchPiece> pieces;
  std::vector<StretchCall> calls;
  std::vector<StretchTask> tasks;      ///< in order of launch
  MessageWay way = MessageWay::kBoth;  ///< of an exchange
  Samples hand_over;                   ///< from the end of another thread's work to its first piece
  std::uint32_t copies = 0;
};

}  // namespace flopcast::whatif::structure
