// Floor 3: the execution graph. One graph for replay, what-if, estimates and live runs.
//
// Tasks live on processors (host threads, GPU streams) that run them strictly in order. Besides
// that order there are
//   fixed edges    the target starts no earlier than the source's end (or start) + lag
//   runtime edges  a synchronisation waits for whatever is last on the streams it names when it
//                  is reached (Lumos, Algorithm 1): not known before the run
//   rooms          a kernel waits while kernels of other streams fill the GPU: decided while running
//   rendezvous     a collective is one hub task: every member's arrival has an edge to it, and it
//                  has one to every member's transfer; all transfer after the last has arrived
//
// Worked example (engine_test repeats it): a host thread runs launch A (5 us), launch B (5 us),
// sync; the stream runs A (20 us) and B (30 us), each 2 us after its launch's start.
//   A     starts at max(0 + 2) = 2, ends at 22
//   B     starts at max(5 + 2, 22) = 22, ends at 52
//   sync  is reached at 10, ends at 52
//
// Structure of arrays; 37 bytes a task and 13 a fixed edge. Tasks of one processor are consecutive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

using TaskId = std::uint32_t;                   ///< number of a task in its graph
inline constexpr TaskId kNoTask = 0xffffffffu;  ///< no task

/// What kind of work a task stands for.
enum class TaskKind : std::uint8_t {
  kOperator,    ///< host: self time of an operator
  kHostCall,    ///< host: runtime call that neither launches nor waits
  kLaunch,      ///< host: call that puts work on a stream
  kSync,        ///< host: call that waits for the GPU
  kCompute,     ///< GPU: kernel
  kCopy,        ///< GPU: memcpy or memset
  kArrival,     ///< GPU: a collective's kernel has started; zero length
  kTransfer,    ///< GPU: the collective after all ranks arrived
  kRendezvous,  ///< hub of a collective; on no processor's clock
  kEvent,       ///< GPU: an event that was recorded on the stream; zero length
};
const char* task_kind_name(TaskKind kind);  ///< "operator", ...

/// Where an edge comes from. Every kind is counted, judged and given its own lag.
enum class EdgeKind : std::uint8_t {
  kLaunch,  ///< CPU→GPU by correlation
  kStream,  ///< GPU→GPU in order within a stream (implicit; only its lag is stored)
  kGraph,   ///< GPU→GPU inside one graph launch
  kEvent,   ///< GPU→GPU across streams, event identity known (cuda_sync, record→wait, sequence)
  kEventInferred,  ///< GPU→GPU across streams, source found by a rule without event identity
  kOccupancy,  ///< GPU→GPU across streams, no event: the SMs were full until the source's last wave
  kSync,       ///< GPU→CPU, device, stream, event sync and blocking copies
  kThread,     ///< CPU→CPU across threads
  kRendezvous,  ///< arrival→hub→transfer
};
inline constexpr int kEdgeKindCount = 9;    ///< how many EdgeKind there are
const char* edge_kind_name(EdgeKind kind);  ///< "launch", ...

/// What runs its tasks one after another: a host thread, a stream of a GPU, or the hub of a collective.
struct Processor {
  /// What sort of one.
  enum class Kind : std::uint8_t { kThread, kStream, kHub };
  Kind kind = Kind::kThread;  ///< see Kind
  std::int32_t rank = 0;      ///< whose it is
  std::int64_t id = 0;        ///< track of a thread, number of a stream
  TaskId first = 0;           ///< tasks first .. last-1 belong here, in order
  TaskId last = 0;            ///< one past its last task
};

/// A synchronisation: the call ends `lag` after the end of everything it waits for, and lasts at
/// least its duration. A source is a stream (resolved while running: the last work put there before
/// the call was reached) or, with kFixedSource set, a task known beforehand (the work before an
/// event's record).
struct RuntimeWait {
  TaskId task = 0;                 ///< the call
  std::uint32_t first_source = 0;  ///< into Graph::wait_sources
  std::uint32_t last_source = 0;   ///< one past its last in Graph::wait_sources
  Time lag;                        ///< from the end of what it waits for to the end of the call
};
/// marks a source of a RuntimeWait as a task
inline constexpr std::uint32_t kFixedSource = 0x80000000u;

/// A dependency.
struct Edge {
  TaskId source = 0;                  ///< what must have ended (or started)
  TaskId target = 0;                  ///< what it holds back
  Time lag;                           ///< time between the two
  EdgeKind kind = EdgeKind::kLaunch;  ///< where it comes from
  bool from_start = false;            ///< counts from the source's start instead of its end
};

/// needs a place in no room
inline constexpr std::uint32_t kNoRoom = 0xffffffffu;

/// The times in a graph: what may be rewritten once it is built (what-if, lag modes).
struct GraphTimes {
  std::vector<Time> duration;  ///< of each task; syncs: the least the call takes
  std::vector<Time> gap;       ///< from the end of the task before it on its processor (may be < 0)
  std::vector<Time> edge_lag;  ///< by edge
  std::vector<Time> fills;     ///< how long after its start a task keeps others out of its room
};

/// Tasks, and what orders them.
struct Graph : GraphTimes {
  std::vector<Processor> processors;  ///< in the order of their tasks
  // Tasks.
  std::vector<std::uint32_t> processor;  ///< index of each task's processor
  std::vector<std::uint32_t> name;       ///< string id
  std::vector<TaskKind> kind;            ///< of each task
  std::vector<TaskId> launcher;  ///< GPU tasks: the call that put them there; kNoTask otherwise
  std::vector<std::uint32_t> pending;  ///< number of predecessors, processor order included
  // Fixed edges, grouped by source.
  std::vector<std::uint32_t> edge_begin;  ///< tasks + 1
  std::vector<TaskId> edge_target;        ///< task it holds back, by edge
  std::vector<std::uint8_t> edge_info;    ///< EdgeKind, bit 7: from_start
  // Rooms: a GPU's SMs. Tasks that need a place there are let in one after another, by when all
  // else would let them start; none before those let in earlier have left enough free.
  std::vector<std::uint32_t> room;  ///< of each task; kNoRoom: needs none. Empty: nobody needs any
  // Runtime edges, ordered by task.
  std::vector<RuntimeWait> waits;           ///< by their task
  std::vector<std::uint32_t> wait_sources;  ///< processor index, or task | kFixedSource

  std::size_t task_count() const { return duration.size(); }  ///< how many
  /// fixed edges: those within a processor and waits are not among them
  std::size_t edge_count() const { return edge_target.size(); }
  /// of the fixed edge e
  EdgeKind edge_kind(std::size_t e) const { return static_cast<EdgeKind>(edge_info[e] & 0x7f); }
  /// whether the fixed edge e counts from its source's start
  bool edge_from_start(std::size_t e) const { return (edge_info[e] & 0x80) != 0; }
};

/// Collects tasks and edges, then lays them out. Tasks must be added processor by processor, in
/// order.
class GraphBuilder {
 public:
  /// Adds a processor, to which the next tasks belong. Its index.
  std::uint32_t add_processor(Processor::Kind kind, std::int32_t rank, std::int64_t id);
  /// Adds a task at the end of the newest processor.
  TaskId add_task(TaskKind kind, std::uint32_t name, Time duration, Time gap);
  /// both tasks must be there when the graph is built
  void add_edge(const Edge& edge) { edges_.push_back(edge); }
  /// the call that put a GPU task on its stream
  void set_launcher(TaskId task, TaskId launcher) { graph_.launcher[task] = launcher; }
  /// `sources` as in RuntimeWait; one wait a task.
  void add_wait(TaskId task, const std::vector<std::uint32_t>& sources, Time lag);
  /// A rendezvous that needs `count` more arrivals than edges tell: a rank that never joins.
  void expect_arrivals(TaskId hub, std::uint32_t count) { graph_.pending[hub] += count; }
  void reserve(std::size_t tasks, std::size_t edges);  ///< room for so many, to save copying
  std::size_t task_count() const { return graph_.duration.size(); }  ///< added so far
  const std::vector<Edge>& edges() const { return edges_; }          ///< added so far

  /// Groups edges by source; the order given among the edges of one source is kept.
  Graph build() &&;

 private:
  Graph graph_;
  std::vector<Edge> edges_;
};

}  // namespace flopcast
