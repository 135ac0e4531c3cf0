// All ranks of a recording with everything that orders their work: what a graph is made of, before
// lags are chosen.
#pragma once

#include <vector>

#include "flopcast/replay.h"
#include "flopcast/replay/collectives.h"
#include "flopcast/replay/cross_stream.h"
#include "flopcast/replay/host_edges.h"
#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// Something that nothing in the trace holds back: the first row of a thread in mid-run, or a GPU
/// task with neither launch nor predecessor. It keeps its recorded delay after the latest earlier
/// end on its rank of something that cannot wait for it, so that it moves when the rank does.
struct Hold {
  /// A piece of a host thread, or a GPU task.
  struct Place {
    std::uint32_t thread = kNoIndex;                    ///< kNoIndex: a GPU task
    std::uint32_t index = 0;                            ///< of the piece, or into RankModel::gpu
    bool on_gpu() const { return thread == kNoIndex; }  ///< whether it is a GPU task
  };
  Place target;  ///< what is held
  Place source;  ///< after the end of what
  Time lag;      ///< how long after, recorded
};

/// Everything known of a run before lags are chosen. Vectors are parallel: one entry a rank.
struct Recording {
  std::vector<RankModel> ranks;                       ///< what ran
  std::vector<Collective> collectives;                ///< of all ranks, by first start
  std::vector<CrossStream> cross_stream;              ///< dependencies between streams
  std::vector<SyncWaits> sync_waits;                  ///< host calls that wait for the GPU
  std::vector<std::vector<ThreadEdge>> thread_edges;  ///< hand-overs between host threads
  std::vector<Time> launch_latency;                   ///< smallest of each rank
  std::vector<std::vector<Hold>>
      holds;  ///< empty: what nothing holds starts when it was recorded to
};

/// Ranks cut, clocks straightened, collectives matched, dependencies found. What is met on the way
/// goes into `notes`: its anomalies, clocks and clock_residual.
Recording make_recording(const TraceSet& set, unsigned threads, Replay& notes);

/// Finds Recording::holds anew. The first thing of each rank is held by nothing: it starts when it
/// was recorded to. No hold makes a circle of waits.
void find_holds(Recording& recording);

}  // namespace flopcast::replaying
