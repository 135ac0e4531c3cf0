// Steps of a run straight from its tasks: what a forecast needs of a run, without the timelines of
// all its rows. The same times, to the picosecond, as step_results of those timelines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// A moment of a host thread, told by the pieces around it: so long after (before) a piece's start
/// or end, and no later than another piece's.
struct HostPoint {
  std::uint32_t thread = kNoIndex;  ///< kNoIndex: a time that nothing moves
  std::uint32_t piece = 0;          ///< it is counted from
  bool from_end = false;            ///< counted from the piece's end, not its start
  Time offset;                      ///< added; the time itself where there is no thread
  std::uint32_t cap = kNoIndex;     ///< a piece it does not outlast; kNoIndex: none
  bool cap_end = false;             ///< ... that piece's end, not its start

  /// When it is in a run. @param map of its rank
  Time in(const TaskMap::Rank& map, const Run& run) const;
};

/// A time that nothing moves.
HostPoint fixed_point(Time t);

/// What one step is on one rank.
struct StepTasks {
  std::string name;                   ///< "ProfilerStep#12"
  bool annotated = true;              ///< false: the whole window of a trace without steps
  HostPoint start, end;               ///< of the annotation; the recorded times where there is none
  std::vector<std::uint32_t> gpu;     ///< GPU tasks put on streams in it, by call
  Time measured_start, measured_end;  ///< as recorded
  std::optional<Time> measured_last_gpu;  ///< recorded end of the last of them
};
/// Steps of one rank, in time order.
std::vector<StepTasks> step_tasks(const TraceSet& set, const RankModel& rank);

/// When a step was on one rank in a run.
struct StepTime {
  Time host_start, host_end;             ///< of the annotation
  std::optional<Time> gpu_from, gpu_to;  ///< nothing where no GPU task was launched in it
  /// GPU step: from the last GPU end of the step before to the last of this one; of a window
  /// without steps from its first GPU start.
  std::optional<Time> gpu() const {
    return gpu_to ? std::optional(*gpu_to - *gpu_from) : std::nullopt;
  }
};
/// Of each of `steps`, in their order.
std::vector<StepTime> step_times(const std::vector<StepTasks>& steps, const TaskMap::Rank& map,
                                 const Run& run);

}  // namespace flopcast::replaying
