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

/// Everything known of a run before lags are chosen. Vectors are parallel: one entry a rank.
struct Recording {
  std::vector<RankModel> ranks;
  std::vector<Collective> collectives;
  std::vector<CrossStream> cross_stream;
  std::vector<SyncWaits> sync_waits;
  std::vector<std::vector<ThreadEdge>> thread_edges;
  std::vector<Time> launch_latency;  ///< smallest of each rank
};

/// Ranks cut, clocks straightened, collectives matched, dependencies found. What is met on the way
/// goes into `notes`: its anomalies, clocks and clock_residual.
Recording make_recording(const TraceSet& set, unsigned threads, Replay& notes);

}  // namespace flopcast::replaying
