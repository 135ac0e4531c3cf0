// The new run before it has times: every rank's pieces, calls, GPU tasks and what they wait for.
#pragma once

#include <unordered_map>

#include "whatif/structure/plan/rank_program.h"
#include "whatif/structure/plan/sizes.h"
#include "whatif/structure/plan/transfers.h"

namespace flopcast::whatif::structure {

/// A row of the new run.
struct DraftRow {
  RowRef origin;                                   ///< what it is a copy of
  std::uint32_t track = 0;                         ///< index into the new trace's tracks
  std::uint32_t parent = replaying::kNoIndex;      ///< index into RankDraft::rows
  std::int64_t correlation = kNoId;                ///< of calls and their tasks
  std::int32_t stream = kNoStream;                 ///< of GPU rows
  std::uint32_t collective = replaying::kNoIndex;  ///< index into Draft::collectives
};

/// One rank. Indices into `model` are in order of launch; times are still to be found.
struct RankDraft {
  replaying::RankModel model;
  std::vector<DraftRow> rows;
  std::vector<std::vector<Time>> piece_time, piece_gap;  ///< [thread][piece]
  std::vector<std::uint8_t> changed;  ///< [task]: its time is not that of its copies, but modelled
  std::vector<Time> task_time;        ///< [task]; of collectives: the transfer
  std::vector<replaying::ThreadEdge> thread_edges;
  std::vector<Time> thread_lags;  ///< of thread_edges
  std::vector<replaying::GpuEdge> gpu_edges;
  std::vector<replaying::SyncWait> waits;  ///< for tasks alone
  std::vector<std::uint32_t> step_begins;  ///< [step]: its first piece on thread 0
};

/// A collective of the new run.
struct DraftCollective {
  std::uint32_t name = 0, group = 0;           ///< string ids of the recording
  RowRef origin;                               ///< of one member
  std::int64_t recorded_bytes = 0, bytes = 0;  ///< on one rank; 0 where unknown
  std::vector<std::uint32_t> ranks;            ///< of the whole group
  std::vector<replaying::CollectiveMember> members;
};

/// See the head of this file.
struct Draft {
  std::vector<RankDraft> ranks;
  std::vector<DraftCollective> collectives;
};

/// `steps` steps of every rank.
Draft make_draft(const replaying::Recording& recording, const Library& library, const NewPlan& plan,
                 const std::vector<std::vector<ProgramItem>>& programs, const Transfers& transfers,
                 const Sizes& sizes, const StructureChange& change, std::uint32_t steps);

}  // namespace flopcast::whatif::structure
