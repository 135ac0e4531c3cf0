// Where every task, call and piece of a recording stands in the cuts of its rank.
#pragma once

#include <vector>

#include "whatif/structure/recorded/cuts.h"
#include "whatif/structure/recorded/stretch.h"

namespace flopcast::whatif::structure {

/// What is known of one rank's tasks by position.
struct RankPlaces {
  std::vector<std::uint32_t> cut_of;                 // [task]: index into cuts, kNoIndex: none
  std::vector<std::uint32_t> position;               // [task]: in its cut
  std::vector<std::uint32_t> wait_of;                // [call]: index into SyncWaits::waits
  std::vector<std::uint32_t> call_of;                // scratch
  std::vector<std::vector<std::uint32_t>> launched;  // [stream]: tasks in order of launch
  std::vector<std::uint32_t> launch_index;           // [task]: in its stream's order of launch
  std::vector<std::vector<const replaying::GpuEdge*>> edges;  // [task]: of which it is the target
  std::vector<std::vector<Time>> hand_over;  // [thread][piece]: lag; Time::min() where none
  std::vector<std::vector<std::uint32_t>> hand_over_from;  // [thread][piece]: thread
};

/// All ranks' cuts, and what is known of each rank by position.
class RecordedCuts {
 public:
  RecordedCuts(const replaying::Recording& recording, const TraceModel& model,
               const RankGrid& grid);

  std::vector<Cut> cuts;                            ///< all ranks, in order
  std::vector<RankPlaces> places;                   ///< [rank]
  std::vector<std::vector<std::uint32_t>> slots;    ///< [rank]: threads as they first launch
  std::vector<std::vector<std::uint32_t>> parents;  ///< [rank][row]: the row around it

  const replaying::RankModel& rank(const Cut& cut) const { return rec_.ranks[cut.rank]; }
  const Events& events(std::uint32_t r) const { return rec_.ranks[r].trace->events; }
  /// The unit that a cut is a copy of.
  const ModelUnit& unit(const Cut& cut) const;
  /// Of a collective, as recorded: string id.
  std::uint32_t operation(std::uint32_t r, const replaying::GpuTask& task) const;
  /// In what the ranks of a task's collective differ.
  DimensionSet group_of(const replaying::GpuTask& task) const {
    return task.collective == replaying::kNoIndex ? DimensionSet{0} : groups_[task.collective];
  }
  /// Of a thread, in the order in which a rank's threads first launch; one that never does comes last.
  std::uint32_t slot(std::uint32_t r, std::uint32_t thread);
  /// How many tasks were launched on a task's stream after it and before a moment.
  std::uint32_t back(std::uint32_t r, std::uint32_t task, Time moment) const;
  /// The call that a piece belongs to; kNoIndex: none.
  std::uint32_t call_at(std::uint32_t r, std::uint32_t thread, std::uint32_t piece) const;
  /// Whether a piece is of a call that waits for the GPU.
  bool waits(const Cut& cut, std::uint32_t piece) const;

 private:
  void find_groups(const RankGrid& grid);
  void index_ranks();
  void index_rank(std::uint32_t r);

  const replaying::Recording& rec_;
  const TraceModel& model_;
  std::vector<DimensionSet> groups_;  // [collective]
};

}  // namespace flopcast::whatif::structure
