// From models and dependencies to the execution graph, and back from tasks to rows.
#pragma once

#include <unordered_map>
#include <vector>

#include "flopcast/replay/recording.h"

namespace flopcast::replaying {

/// How long things take; taken from the recording, or from another step of it.
struct Durations {
  /// Of one rank.
  struct Rank {
    std::vector<std::vector<Time>> piece;  ///< [thread][piece]
    std::vector<std::vector<Time>> gap;    ///< [thread][piece]: host time before it
    std::vector<Time> gpu;                 ///< whole duration of GPU tasks
    /// Of GPU tasks in collectives: after the last arrival, less than 0 where the clocks of ranks
    /// say so. Of others as `gpu`.
    std::vector<Time> transfer;
    std::vector<Time> after_sync;  ///< [wait] host time after what a sync waits for
  };
  std::vector<Rank> ranks;  ///< as Recording::ranks
};
/// As they were.
Durations recorded_durations(const Recording& recording);
/// How long a GPU task took; of one in a collective, from the last arrival it waited for.
Time recorded_transfer(const Recording& recording, std::uint32_t rank, std::uint32_t task);

/// What stands at the end of a GPU→GPU dependency: handing over between kernels and copy engines
/// takes several times longer than between kernels.
enum class GpuClass : std::uint8_t {
  kCompute,        ///< a kernel
  kCommunication,  ///< a kernel of is_communication_kernel
  kCopy,           ///< a copy or set
};
/// Of a GPU task.
GpuClass gpu_class(const RankModel& rank, const GpuTask& task);
/// What tells one launch of a kernel from another of a different size: name and blocks.
std::uint64_t launch_shape(const RankModel& rank, const GpuTask& task);

/// Delay after each kind of dependency, per rank: the median; between GPU tasks by the classes at
/// its ends.
struct Lags {
  /// Of one rank.
  struct Rank {
    Time launch_from_start;              ///< of work since its call began
    Time launch_from_end;                ///< of work since its call ended, where it waits for that
    Time sync;                           ///< from the end of the work to the end of the call
    Time between[kEdgeKindCount][3][3];  ///< [kind][source class][target class]
    Time overall[kEdgeKindCount];        ///< of a kind, whatever its ends
    std::uint64_t samples[kEdgeKindCount] = {};  ///< recorded dependencies they were made of
    /// Of a kind between two classes.
    Time after(EdgeKind kind, GpuClass source, GpuClass target) const {
      return between[static_cast<int>(kind)][static_cast<int>(source)][static_cast<int>(target)];
    }
  };
  LagMode mode = LagMode::kTypical;  ///< which they are for
  std::vector<Rank> ranks;           ///< as Recording::ranks
  /// Part of a kernel's time, in millionths, after which the SMs it filled take other work: before
  /// its last wave ends. Median per kernel and grid over all ranks; a property of the kernel, so
  /// kept in every mode.
  std::unordered_map<std::uint64_t, std::int64_t> occupied_ppm;
  /// That part of a duration; all of it where nothing is known of the shape.
  Time occupied(std::uint64_t shape, Time duration) const;
};

/// One entry per GPU task. @param occupancy whether occupancy edges count.
std::vector<Binding> find_bindings(const Recording& recording, std::uint32_t rank,
                                   bool occupancy = true);
/// Of every rank. @param threads 0: all cores
std::vector<std::vector<Binding>> find_all_bindings(const Recording& recording, unsigned threads);

/// The delays of a recording's dependencies, for a mode.
Lags measure_lags(const Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                  LagMode mode);

/// Tasks of pieces and GPU rows.
struct TaskMap {
  /// Of one rank.
  struct Rank {
    /// [thread][piece]: the two tasks of a blocking copy, else the same
    std::vector<std::vector<TaskId>> piece_first, piece_last;
    std::vector<TaskId> gpu_first, gpu_last;  ///< arrival and transfer of collectives
  };
  std::vector<Rank> ranks;                         ///< as Recording::ranks
  std::vector<std::uint32_t> task_rank, task_row;  ///< of every task; row kNoDetail for hubs
};

/// A graph to run, and what its tasks are.
struct Assembly {
  Graph graph;                               ///< to be run with `release`
  TaskMap map;                               ///< its tasks
  std::vector<Time> release;                 ///< of each task: Time::min() for most
  std::vector<Pin> pinned;                   ///< what was taken from the recording, and why
  std::vector<std::vector<bool>> is_pinned;  ///< [rank][GPU task]: keeps its recorded delay
};
/// The graph of a recording with these durations and lags. @param bindings of each rank, as
/// find_bindings gives them.
Assembly assemble(const Recording& recording, const Durations& durations, const Lags& lags,
                  const std::vector<std::vector<Binding>>& bindings, Baseline baseline);

}  // namespace flopcast::replaying
