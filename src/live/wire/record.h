// What a thread of the application tells the engine: one record of 64 bytes, a cache line, a call.
//
// This folder is all that the stand-in libraries and the engine share. It uses nothing but the C++ library,
// has no state of its own, and its structures are laid out the same in every process of a run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flopcast::live {

/// What was done. Words are those of Record::word, in order.
enum class Act : std::uint8_t {
  kNothing,  ///< no work of a device: a call that only changes bytes

  // The thread itself.
  kThreadStart,  ///< word: the thread that made it, that thread's records until then, nanoseconds since,
  ///< its own name (1024 times its maker's, plus how many that had made). With an answer
  ///< wanted nobody of the run made it: word[2] is its time, as far as it knows
  kThreadEnd,  ///< nothing follows from this thread
  kIdle,   ///< says nothing before it is woken. word: nanoseconds after which it goes on by itself,
           ///< answered then with ETIMEDOUT, or with 0 when it is woken before; 0: it does not
  kWoken,  ///< goes on. word: the thread that woke it, that thread's records until then (0: nobody
           ///< of the run), nanoseconds since, the waker's time since the start of the run
  kSleep,  ///< word: nanoseconds of virtual time
  kMark,   ///< a step or range of the user's. signature: its name. word: 1 begins, 0 ends

  // What kernels belong to.
  kOperatorBegin,  ///< signature: operator with shapes and types. Kernels until its end belong to it
  kOperatorEnd,    ///< of the innermost one

  // Work on a stream.
  kKernel,    ///< signature: name or library call with its sizes. word: blocks, threads of a block
  kCopy,      ///< word: bytes, CopyKind
  kFill,      ///< word: bytes
  kHostWork,  ///< a function of the application runs in stream order. word: its ticket

  // Order between streams and threads. word[0] is an event, or a stream is in `stream`.
  kRecordEvent,       ///< word: event, 1: it keeps times
  kStreamWaitsEvent,  ///< word: event
  kWaitEvent,         ///< the thread waits. Answered
  kWaitStream,        ///< the thread waits. Answered
  kWaitDevice,        ///< the thread waits. Answered
  kAskEvent,          ///< is it done? Answered: 1 or 0
  kAskStream,         ///< is it done? Answered: 1 or 0
  kElapsed,           ///< word: two events. Answered: picoseconds between them

  // Objects.
  kMakeStream,  ///< word: priority, 1: does not wait for the default stream
  kDropStream,  ///< its work goes on
  kDropEvent,   ///< word: event

  // Memory of a device.
  kAllocate,  ///< word: address, bytes as asked for, bytes as taken
  kFree,      ///< word: address

  // Communication. signature: the communicator's unique id where one is made, the program's line where one is called.
  kMakeGroup,  ///< word: communicator, rank in it, number of ranks
  kWaitGroup,  ///< word: communicator. Answered when all ranks have made it
  kSplitGroup,  ///< word: communicator, colour (-1: in none), key, the new communicator. Answered: rank in
                ///< the new one << 32 | its size
  kDropGroup,  ///< word: communicator
  kCollective,  ///< word: communicator, Collective << 32 | peer or root, bytes (as nccl-tests counts them),
  ///< Reduction << 40 | Element << 32 | calls of its group call, which follow one another
  kSettle,  ///< needs the bytes of a call, which takes no time: no task. word: communicator, 0 for a
  ///< collective or sender + 1 << 32 | receiver + 1, number of that call. Answered when all
  ///< its ranks have called

  kGraphLaunch,  ///< word: nodes of the graph. They follow, marked kOfGraph
  kAskSpan,  ///< word: number of a watched record, 0 or 1. Answered: start or end of its work in
             ///< picoseconds; after the end it is no longer watched
  kHolds,    ///< word: bytes of the device that the process has from now on, its context included
  kAskUse,   ///< what the node's device does. word: DeviceUse, number of a process. Answered
  kFork,  ///< a process of the program's begins here. word: Hello::child of its line. Answered: when
  kWaitsFor,  ///< of the kIdle that follows: it is woken at a channel, too. word: the channel's key, wakes of it
  ///< that the thread knows of, 1: threads of its process act in turn
  kWakes,  ///< threads of other processes that wait at a channel. word: its key, which wake of it this is
  kNameMember,  ///< of a group whose members wait for each other in memory that they share, as a communicator. signature:
  ///< its name. word: communicator, number of members << 32 | member, the member's rank << 32 | device in its
  ///< process, what this process is in the group
  kTurn,  ///< goes on when none of those that act in turn may do anything before. Answered

  // Of runs whose ranks stand for others (engine/session/folding.h).
  kMembers,  ///< signature: ranks of the run (ranks.h) that a communicator is of which is made next; word: its
  ///< number. Or that the program puts together, and after a space what for; word: 0
  kPeer,  ///< the program is about to send to a rank, or to receive from it, alone. word: rank of the run
};
inline constexpr Act kLastAct = Act::kPeer;

/// What may be asked of a device, at the thread's time.
enum class DeviceUse : std::uint8_t {
  kComputes,  ///< billionths of the last second, or of the run until then, that a kernel or a collective ran
  kMoves,     ///< the same that one of them, a copy or a fill ran
  kBusyTime,  ///< picoseconds that kernels and collectives have run since the run began
  kMemory,    ///< bytes that all processes have of it
  kProcess,  ///< of the processes that have memory of it the n-th, as the system numbers it; 0: there is none
  kMemoryOf,  ///< bytes of that
};

/// Where a copy comes from and goes to.
enum class CopyKind : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kPeer, kHost };

/// Operations of a communicator, as NCCL has them.
enum class Collective : std::uint8_t {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kSend,
  kReceive,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,  ///< none of NCCL's: kernels that wait for each other in memory that ranks share
};

/// Types of elements, as ncclDataType_t numbers them.
enum class Element : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8E4M3,
  kFloat8E5M2,
};

/// How elements are put together, as ncclRedOp_t numbers it; what a program makes itself is kScaledSum.
enum class Reduction : std::uint8_t { kSum, kProduct, kMaximum, kMinimum, kAverage, kScaledSum };

/// Of Record::flags.
inline constexpr std::uint8_t kAnswerWanted = 1;  ///< the thread does not go on before an answer
inline constexpr std::uint8_t kOfGraph =
    2;  ///< of the graph that the thread launched last: no call
inline constexpr std::uint8_t kWatched = 4;  ///< its times will be asked for

inline constexpr std::uint8_t kOfHelper = 16;  ///< of a thread in real time: it holds nobody up

/// Host time is told by differences: what the thread computed since its record before, in `gap_ns`, and
/// what the call itself takes, in `duration_ns`. So nothing said before has to be taken back when
/// the answer to a wait moves a thread.
struct Record {
  Act act = Act::kNothing;
  std::uint8_t flags = 0;
  std::uint16_t device = 0;       ///< of the process
  std::uint32_t signature = 0;    ///< number of a text in the process's arena, 0: none
  std::int64_t gap_ns = 0;        ///< host time since the end of the record before
  std::uint32_t duration_ns = 0;  ///< host time of the call
  std::uint32_t number = 0;       ///< of the process's records, modulo 2^32: the order of its calls
  std::uint64_t stream = 0;       ///< 0: the default stream of its device
  std::uint64_t word[4] = {};     ///< by act
};
static_assert(sizeof(Record) == 64 && alignof(Record) == 8);

/// Whether its thread does nothing before it is answered. One that idles may be woken before.
inline bool waits_for_answer(const Record& record) {
  return (record.flags & kAnswerWanted) != 0 && record.act != Act::kIdle;
}

/// Whether an engine that sleeps need not be woken for it: it wakes by itself soon, and what others wait for hangs
/// on something else that this thread says before it stands still.
inline bool can_wait(const Record& record) {
  if ((record.flags & kAnswerWanted) != 0) return false;
  switch (record.act) {
    case Act::kOperatorBegin:
    case Act::kOperatorEnd:
    case Act::kMark:
    case Act::kKernel:
    case Act::kCopy:
    case Act::kFill:
    case Act::kRecordEvent:
    case Act::kStreamWaitsEvent:
    case Act::kDropEvent:
    case Act::kAllocate:
    case Act::kFree:
    case Act::kCollective:
      return true;
    default:
      return false;
  }
}

}  // namespace flopcast::live
