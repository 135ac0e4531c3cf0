// Floor 5: from recorded traces to an execution graph, and the recorded run once more.
//
// The graph has host tasks (self time of operators, runtime calls; gaps between them stay) and GPU
// tasks (kernels, copies, sets), with the four dependency kinds of Lumos, sections 3.2-3.3:
//   CPU→CPU  within a thread; across threads (backward hand-over: significant gaps, fwdbwd flows)
//   CPU→GPU  launches, by correlation
//   GPU→CPU  device, stream and event synchronisation, blocking copies
//   GPU→GPU  within a stream; across streams (events, occupancy); collectives as rendezvous
//
// What a replay pins to the recording is listed in Replay::pinned, because a replay that copies
// enough is exact with right and wrong edges alike. Judge it by LagMode::kTypical or kZero, never
// by kRecorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/engine.h"
#include "flopcast/graph.h"
#include "flopcast/trace.h"

namespace flopcast {

class CollectiveModel;

/// The delay between a dependency's end and the task it releases.
enum class LagMode : std::uint8_t {
  kTypical,   ///< the median per rank and edge kind (between GPU tasks: and whether kernel,
              ///< communication, copy)
  kZero,      ///< none; launches take the rank's smallest launch latency (the papers' model)
  kRecorded,  ///< each as recorded: for what-if deltas only, says nothing of accuracy
};
const char* lag_mode_name(LagMode mode);  ///< "typical", "zero", "recorded"

/// Comparison models of the papers, on the same graph.
enum class Baseline : std::uint8_t {
  kNone,
  kSingleStream,   ///< all compute in one stream, all communication in one other
  kNoInterStream,  ///< no dependency between streams
  kDpro,           ///< GPU tasks only: one compute and one communication queue, host ignored
};
/// "full", "single-stream", "no-inter-stream", "dpro"
const char* baseline_name(Baseline baseline);

/// How a recording is replayed.
struct ReplayOptions {
  LagMode lags = LagMode::kTypical;     ///< what delays are put on dependencies
  Baseline baseline = Baseline::kNone;  ///< which model of the literature, if any
  unsigned threads = 0;                 ///< 0: all cores
  /// Replay `durations_from` with its own dependencies replaced by those of `structure_from` (names
  /// such as "ProfilerStep#12" or "12"): the honest test of structure. Judge the step
  /// `durations_from` of the result.
  std::optional<std::string> structure_from, durations_from;
  /// Transfer times of collectives from this model instead of the recording; not owned.
  const CollectiveModel* network = nullptr;
  std::string network_name;  ///< of its cluster, for the result
};

/// Start and end of every row of every trace, on one clock. Rows that are no tasks (annotations)
/// move with the host time or the GPU rows they cover.
struct Timeline {
  std::vector<std::vector<Time>> start;  ///< [trace][row]
  std::vector<std::vector<Time>> end;    ///< [trace][row]
};

/// One collective, matched across ranks.
struct CollectiveInstance {
  std::uint32_t name = 0;   ///< string id: allreduce, ... or the kernel's name
  std::uint32_t group = 0;  ///< string id of the group, 0 where unknown
  std::int64_t bytes = 0;   ///< 0 where unknown
  bool rendezvous = true;   ///< false: some rank had ended before another began
  /// One rank's part in it.
  struct Member {
    std::uint32_t trace = 0;  ///< index into TraceSet::traces
    std::uint32_t row = 0;    ///< of the kernel
    /// As recorded.
    Time recorded_wait, recorded_transfer;  ///< for the other ranks; once all are there
    /// As replayed.
    Time replayed_wait, replayed_transfer;
  };
  std::vector<Member> members;  ///< one per rank, those that were recorded
  /// A send to a receive: who waits here waits for the stage before, which no plan can avoid.
  bool point_to_point = false;
  /// Of `members`, the one that came last in the replayed run.
  std::size_t last() const;
};

/// A rank that came last to collectives, and how long those waited for it there whose work it does, too.
struct WaitedFor {
  std::uint32_t trace = 0;  ///< index into TraceSet::traces
  std::uint64_t last = 0;   ///< collectives it came last to
  Time waited;              ///< by the others in those, as replayed, summed over them
};
/// Whether a member waits by plan: in a send or receive, or for another stage of the pipeline. @param stages
/// Replay::stages
bool waits_by_plan(const CollectiveInstance& collective, std::size_t member,
                   const std::vector<std::uint32_t>& stages);
/// Every rank that others wait for other than by plan, most first. @param collectives,stages as in Replay
std::vector<WaitedFor> waited_for(const std::vector<CollectiveInstance>& collectives,
                                  const std::vector<std::uint32_t>& stages);

/// Edges of one kind: how many, and how many candidates the recording contradicts (source ends
/// after the target starts). Contradicted candidates are dropped, never kept.
struct EdgeCount {
  EdgeKind kind = EdgeKind::kLaunch;  ///< which kind
  std::uint64_t count = 0;            ///< that are kept
  std::uint64_t contradicted = 0;     ///< that were dropped
  std::string example;                ///< the first contradicted candidate
};

/// A GPU task, not pinned, that started later than anything in the graph explains, by more than 15
/// us.
struct LateStart {
  std::uint32_t trace = 0;  ///< index into TraceSet::traces
  std::uint32_t row = 0;    ///< of the task
  Time late;                ///< by how much
};

/// Something taken from the recording because nothing in the trace explains it.
struct Pin {
  std::string what;         ///< what was taken
  std::uint64_t tasks = 0;  ///< how many were pinned
  Time late;                ///< summed: how much later than the graph explains
};

/// The delay that a kind of dependency has on a rank.
struct Lag {
  std::int32_t rank = 0;              ///< whose
  EdgeKind kind = EdgeKind::kLaunch;  ///< of which dependencies
  std::uint64_t samples = 0;          ///< recorded dependencies it was made of
  Time typical, smallest;             ///< their median; their least
};

/// A stretch of the critical path: a task, or the idle lag before it.
struct PathPiece {
  std::uint32_t trace = 0;              ///< index into TraceSet::traces
  std::uint32_t row = kNoDetail;        ///< kNoDetail: host time between operators, or a lag
  TaskKind kind = TaskKind::kOperator;  ///< of the task
  Time start, end;                      ///< in the replayed run
  /// As recorded, because nothing in the trace holds the task after it: whatever gets faster before
  /// its end, that task starts when it did.
  bool pinned = false;
};

/// The chain of tasks, each held back by the one before it, that ends with the run.
struct CriticalPath {
  std::vector<PathPiece> pieces;  ///< first to last
  std::uint32_t last_trace = 0;   ///< the rank that ends last: index into TraceSet::traces
  Time window_start;              ///< of that rank: when the first of its tasks starts
};

/// What it is worth to have less of one part of the work: runs of the engine.
struct WorkSensitivity {
  /// "host", "gemm", "attention", "other_kernels", "copies", a collective ("all_reduce"), or "network": every
  /// transfer
  std::string part;
  Time work;  ///< of that part in a step, summed over all ranks
  /// GPU step with 10 % less of it; with none. Nothing if that run cannot finish.
  std::optional<Time> gpu_step, limit = std::nullopt;
};
/// A rank that does what it does in the time of its equals, the ranks that do the same work.
struct RankLikeEquals {
  std::int32_t rank = 0;  ///< which
  std::optional<Time>
      gpu_step;  ///< then; nothing where it has no equals, or that run cannot finish
  /// Whom the others wait for most then, and how long, summed over them; nothing where nobody waits.
  std::optional<std::int32_t> next;
  Time next_waited;  ///< likewise
};
/// What is worth making faster: the answers of `whatif` to the recording. A step here is theirs (WhatIfAnswer::before).
struct SensitivityTable {
  static constexpr double kLessTime = 0.1;  ///< every task of a part takes so much less of its time
  Time gpu_step;                            ///< as recorded
  std::vector<WorkSensitivity> parts;       ///< most gain by a tenth less first
  std::optional<RankLikeEquals> late = std::nullopt;  ///< the rank that the others wait for most
  std::optional<RankLikeEquals> straggler =
      std::nullopt;  ///< the rank that `remove straggler` removes
  /// Relative, of a step that would take so long; nothing where there is none.
  std::optional<double> change(const std::optional<Time>& then) const;
};

/// One step on one rank: host time of ProfilerStep#N, GPU time from the last GPU end launched in
/// the step before to the last of this one.
struct StepResult {
  std::string name;                                                 ///< "ProfilerStep#2"
  Time measured_start, measured_end, replayed_start, replayed_end;  ///< of the host
  /// nothing where no GPU task was launched in the step
  std::optional<Time> measured_gpu, replayed_gpu;
  double start_error_median_s = 0;  ///< median |replayed - recorded start| over its GPU tasks
};

/// What a network model replaced, by operation.
struct NetworkUse {
  std::string cluster;  ///< as the user wrote it
  /// One operation, over all collectives of its kind.
  struct Operation {
    std::string name;               ///< "all_reduce"
    std::uint64_t collectives = 0;  ///< matched across ranks
    std::uint64_t kept = 0;         ///< of these, with their recorded transfer
    std::string kept_because;       ///< in words
    Time recorded, modelled;        ///< transfers replaced, summed over members
    std::string source;             ///< what the model's answer rests on
  };
  std::vector<Operation> operations;  ///< most recorded time first
};

/// What was done to one rank's clocks.
struct RankClock {
  std::int32_t rank = 0;  ///< whose
  Time rank_offset;       ///< added to this rank's times to align collectives' ends
  Time gpu_offset;        ///< added to this rank's GPU times: no kernel may start before its launch
};

/// A recording, run again, with all that it rests on.
struct Replay {
  LagMode lags = LagMode::kTypical;             ///< as asked
  Baseline baseline = Baseline::kNone;          ///< as asked
  Timeline recorded;                            ///< on the aligned clock
  Timeline replayed;                            ///< on the same clock
  std::vector<std::vector<StepResult>> steps;   ///< [trace][step]
  std::vector<CollectiveInstance> collectives;  ///< matched across ranks, by time
  std::vector<EdgeCount> edges;                 ///< one per EdgeKind, in order
  std::vector<LateStart> late_starts;           ///< largest first
  std::vector<Pin> pinned;                      ///< what is copied from the recording
  std::vector<Lag> lag_table;                   ///< by rank and kind
  std::vector<RankClock> clocks;                ///< by rank
  Time clock_residual;         ///< median spread of collectives' ends over ranks after alignment
  CriticalPath critical_path;  ///< of the replayed run
  /// Nothing: it takes more than one run, and tell_worth (flopcast/whatif.h) finds it.
  std::optional<SensitivityTable> sensitivity;
  /// Of each trace, where the recording is of a pipeline: which stage. Empty: none is known; tell_worth finds it.
  std::vector<std::uint32_t> stages;
  std::string no_sensitivity;         ///< why there is none, where that was asked
  std::vector<std::string> damage;    ///< not empty: the recording cannot be forecast, and why
  std::optional<NetworkUse> network;  ///< where ReplayOptions::network was given
  Anomalies anomalies;                ///< met while building the graph
  std::uint64_t task_count = 0, edge_count = 0;  ///< of the graph that was run
};

/// Builds the graph of all ranks, runs it, and maps the result back to the traces' rows. kBadInput
/// where the traces hold nothing that could be run.
Result<Replay> replay(const TraceSet& set, const ReplayOptions& options = {});

/// How alike two steps are: how many of one's runtime calls that order anything (launches, records,
/// waits, synchronisation) find their like in the other, by thread, order and name, and how many of
/// one's dependencies are dependencies of the other.
struct StepMatch {
  std::string from, to;                     ///< names of the steps
  double matched_from = 0, matched_to = 0;  ///< fractions, 0..1, smallest over ranks
  /// One kind of dependency.
  struct Transfer {
    EdgeKind kind = EdgeKind::kEvent;  ///< which
    std::uint64_t edges = 0;           ///< of `from`, both ends matched
    std::uint64_t kept = 0;            ///< that are edges of `to` as well
  };
  std::vector<Transfer> transfer;  ///< event, event_inferred, graph, occupancy, sync, thread
  /// At least 99 % of the calls match both ways.
  bool same_structure() const { return matched_from >= 0.99 && matched_to >= 0.99; }
};
/// Which steps are alike.
struct StepComparison {
  /// Names of steps with the same calls in the same order on every rank; the largest group first.
  /// Every step that all ranks have is in one.
  std::vector<std::vector<std::string>> groups;
  /// Ordered pairs among the first and the second steps of the largest groups, kMostCompared steps
  /// in all.
  std::vector<StepMatch> pairs;
  static constexpr std::size_t kMostCompared = 8;  ///< so that time grows with steps, not pairs
};
/// Groups the steps that all ranks have, and compares the groups.
StepComparison compare_steps(const TraceSet& set, unsigned threads = 0);

}  // namespace flopcast
