// From models and dependencies to the execution graph, and back from tasks to rows.
#pragma once

#include <unordered_map>
#include <vector>

#include "flopcast/replay/recording.h"

namespace flopcast::replaying {

/// How long things take; taken from the recording, or from another step of it.
struct Durations {
  struct Rank {
    std::vector<std::vector<Time>> piece,
        gap;                       ///< [thread][piece]; gap is the host time before a piece
    std::vector<Time> gpu;         ///< whole duration of GPU tasks
    std::vector<Time> transfer;    ///< of GPU tasks in collectives: after the last arrival
    std::vector<Time> after_sync;  ///< [wait] host time after what a sync waits for
  };
  std::vector<Rank> ranks;
};
/// As they were.
Durations recorded_durations(const Recording& recording);
/// How long a GPU task took; of one in a collective, from the last arrival it waited for.
Time recorded_transfer(const Recording& recording, std::uint32_t rank, std::uint32_t task);

/// What stands at the end of a GPU→GPU dependency: handing over between kernels and copy engines
/// takes several times longer than between kernels.
enum class GpuClass : std::uint8_t { kCompute, kCommunication, kCopy };
GpuClass gpu_class(const RankModel& rank, const GpuTask& task);
/// What tells one launch of a kernel from another of a different size: name and blocks.
std::uint64_t launch_shape(const RankModel& rank, const GpuTask& task);

/// Delay after each kind of dependency, per rank: the median; between GPU tasks by the classes at
/// its ends.
struct Lags {
  struct Rank {
    Time launch_from_start, launch_from_end, sync;
    Time between[kEdgeKindCount][3][3];  ///< [kind][source class][target class]
    Time overall[kEdgeKindCount];        ///< of a kind, whatever its ends
    std::uint64_t samples[kEdgeKindCount] = {};
    Time after(EdgeKind kind, GpuClass source, GpuClass target) const {
      return between[static_cast<int>(kind)][static_cast<int>(source)][static_cast<int>(target)];
    }
  };
  LagMode mode = LagMode::kTypical;
  std::vector<Rank> ranks;
  /// Part of a kernel's time, in millionths, after which the SMs it filled take other work: before
  /// its last wave ends. Median per kernel and grid over all ranks; a property of the kernel, so
  /// kept in every mode.
  std::unordered_map<std::uint64_t, std::int64_t> occupied_ppm;
  Time occupied(std::uint64_t shape, Time duration) const;
};

/// What held a GPU task back in the recording: the latest of its constraints.
struct Binding {
  EdgeKind kind = EdgeKind::kLaunch;
  std::uint32_t source = kNoIndex;  ///< GPU task, for stream, graph and event kinds
  bool from_end = false;            ///< launches: the call's end counts, not its start
  Time base;                        ///< recorded time of the constraint
  bool any = false;                 ///< false: nothing in the trace holds it back
};
/// One entry per GPU task.
std::vector<Binding> find_bindings(const Recording& recording, std::uint32_t rank);

Lags measure_lags(const Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                  LagMode mode);

/// Tasks of pieces and GPU rows.
struct TaskMap {
  struct Rank {
    std::vector<std::vector<TaskId>> piece_first, piece_last;  ///< [thread][piece]
    std::vector<TaskId> gpu_first, gpu_last;  ///< arrival and transfer of collectives
  };
  std::vector<Rank> ranks;
  std::vector<std::uint32_t> task_rank, task_row;  ///< of every task; row kNoDetail for hubs
};

struct Assembly {
  Graph graph;
  TaskMap map;
  std::vector<Time> release;
  std::vector<Pin> pinned;
  std::vector<std::vector<bool>> is_pinned;  ///< [rank][GPU task]: starts when it was recorded to
};
Assembly assemble(const Recording& recording, const Durations& durations, const Lags& lags,
                  const std::vector<std::vector<Binding>>& bindings, Baseline baseline);

}  // namespace flopcast::replaying
