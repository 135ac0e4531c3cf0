// One step's dependencies on another step's tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// A step on one rank: [from, to) on the aligned clock.
struct StepSpan {
  std::string name;
  Time from, to;
};
std::vector<StepSpan> step_spans(const TraceSet& set, const RankModel& rank);

/// Calls of one thread inside a step that order anything: launches, records, waits,
/// synchronisation. How often a step asks for attributes or memory varies with the state of caches,
/// and means nothing here.
std::vector<std::uint32_t> calls_inside(const RankModel& rank, const HostThread& thread,
                                        const StepSpan& step);

/// Which calls and GPU tasks of one step are which of another. kNoIndex: no counterpart.
struct StepMapping {
  std::vector<std::uint32_t> call, task;  ///< by index in the rank model
  std::uint64_t calls_from = 0, calls_to = 0, matched = 0;
};
StepMapping map_step(const RankModel& rank, const StepSpan& from, const StepSpan& to);

/// The dependencies of one rank that lie inside a step.
struct StepEdges {
  std::vector<GpuEdge> gpu;
  std::vector<SyncWait> waits;
  std::vector<ThreadEdge> threads;
};
StepEdges edges_inside(const Recording& recording, std::uint32_t rank, const StepSpan& step);
/// Carried over by a mapping; what has no counterpart is left out.
StepEdges carry_over(const RankModel& rank, const StepEdges& edges, const StepMapping& mapping);

/// Replaces the dependencies inside step `to` by those of step `from`, on every rank.
std::optional<Diagnostic> transplant(const TraceSet& set, Recording& recording,
                                     const std::string& from, const std::string& to);

}  // namespace flopcast::replaying
