// All ranks of a recording with everything that orders their work: what a graph is made of, before
// lags are chosen.
#pragma once

#include <functional>
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

/// What held a GPU task back in the recording: the latest of its constraints.
struct Binding {
  EdgeKind kind = EdgeKind::kLaunch;  ///< what kind of constraint
  std::uint32_t source = kNoIndex;    ///< GPU task, for stream, graph and event kinds
  bool from_end = false;              ///< launches: the call's end counts, not its start
  Time base;                          ///< recorded time of the constraint
  bool any = false;                   ///< false: nothing in the trace holds it back
};
/// What a GPU task has to do with its GPU's SMs, for runs with recorded lags (LagMode::kRecorded):
/// there the recorded occupancy edges give way to it, since who fills the SMs is a matter of when
/// things run.
struct Room {
  /// Whether the task needs a place.
  enum class Need : std::uint8_t {
    kNone,  ///< a copy, or the only stream of its GPU: whatever runs, it starts
    kFree,  ///< it needs a place, and found one when it came
    kHeld,  ///< it was late for want of a place
  };
  Need need = Need::kNone;  ///< see Need
  /// An occupancy edge ends at it that no place explains: it keeps its recorded delay after what
  /// else bound it.
  bool late = false;
  Time fills;  ///< how long after its start it kept others out
  Time whole;  ///< of how long in all (recorded_transfer): it scales with that
};

/// Everything known of a run before lags are chosen. Vectors are parallel: one entry a rank.
struct Recording {
  std::vector<RankModel> ranks;                       ///< what ran
  std::vector<Collective> collectives;                ///< of all ranks, by first start
  std::vector<CrossStream> cross_stream;              ///< dependencies between streams
  std::vector<SyncWaits> sync_waits;                  ///< host calls that wait for the GPU
  std::vector<std::vector<ThreadEdge>> thread_edges;  ///< hand-overs between host threads
  std::vector<Time> launch_latency;                   ///< smallest of each rank
  std::vector<std::vector<Room>> rooms;  ///< of each GPU task; empty: occupancy edges hold
  /// Of each GPU task, what bound it besides occupancy; of ranks with a late one (Room::late).
  std::vector<std::vector<Binding>> beside_occupancy;
  std::vector<std::vector<Hold>> holds;  ///< empty: what nothing holds keeps its recorded start
};

/// Ranks cut, clocks straightened, collectives matched, dependencies found: all but rooms and holds.
/// What is met on the way goes into `notes`: its anomalies, clocks and clock_residual.
Recording find_dependencies(const TraceSet& set, unsigned threads, Replay& notes);

/// The same with rooms, and with holds for runs with recorded lags.
Recording make_recording(const TraceSet& set, unsigned threads, Replay& notes);

/// Adds to the waits those of launches for a full queue, if the recording shows that there are such
/// and how many launches it holds (SyncWaits::queue). That number; 0 where it does not show.
std::uint32_t find_launch_queue(Recording& recording);

/// Finds Recording::rooms anew. With them, as with occupancy edges, a replay with recorded lags is
/// exact. @param bindings of each rank, as find_bindings gives them
void find_rooms(Recording& recording, const std::vector<std::vector<Binding>>& bindings);

/// Finds Recording::holds anew. The first thing of each rank is held by nothing: it starts when it
/// was recorded to. @param runs whether the recording as it is now comes to its end: a hold must not
/// make a circle of waits. Its last call sees the holds that are kept.
void find_holds(Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                const std::function<bool()>& runs);

}  // namespace flopcast::replaying
