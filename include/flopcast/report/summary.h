// Floor 8: what a replay says, computed once and printed by text, JSON, CSV and the HTML page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/report/replay.h"

namespace flopcast {

/// The same quantity of the recording and of the replay.
template <typename T>
struct Pair {
  T measured{};  ///< of the recording
  T replayed{};  ///< of the replay
};

/// One step on one rank.
struct StepSummary {
  std::string name;                 ///< "ProfilerStep#2"
  Pair<Time> host;                  ///< length of the step on the host
  std::optional<double> error;      ///< of the host step
  std::optional<Pair<Time>> gpu;    ///< length of the GPU step, where there is one
  std::optional<double> gpu_error;  ///< of the GPU step; nothing where there is none
  Pair<Breakdown> parts;            ///< GPU time within the host step
  double start_error_median_s = 0;  ///< of its GPU tasks
};

/// One rank: its steps, and its GPU over the window.
struct RankSummary {
  std::int32_t rank = 0;           ///< whose
  std::string file;                ///< its trace
  std::vector<StepSummary> steps;  ///< in the order of time
  /// First start to last end of any GPU row, or of any row where there is no GPU row.
  Pair<Time> window;
  Pair<Breakdown> parts;          ///< GPU time of the window
  Pair<double> sms_used;          ///< share of SM time; negative where unknown
  Pair<Utilisation> utilisation;  ///< of the windows, per millisecond
};

/// All collectives of one name and group, summed over instances and ranks.
struct CollectiveSummary {
  std::string name;                  ///< of the collective
  std::string group;                 ///< empty where unknown
  std::uint64_t count = 0;           ///< instances
  std::uint64_t ranks = 0;           ///< the most members an instance has
  std::uint64_t not_rendezvous = 0;  ///< instances that some rank had left before another came
  std::int64_t bytes = 0;            ///< sum over instances; 0 where unknown
  Pair<Time> wait, transfer;         ///< sums over all members
};

/// What the critical path consists of. Classes are those of `path_class`.
struct PathShare {
  std::string name;          ///< of the class, or the rank
  std::uint64_t pieces = 0;  ///< of the path
  Time time;                 ///< summed
};
/// The critical path of the replayed run.
struct PathSummary {
  Time length;                      ///< summed over its pieces
  std::int32_t last_rank = 0;       ///< the rank that ends last, with which the path ends
  Time window;                      ///< from the start of that rank's first task to the end
  std::uint64_t pinned_starts = 0;  ///< tasks on it that start when they were recorded to
  Time pinned;  ///< of the length: up to the last of those, which nothing makes shorter
  std::uint64_t pieces = 0;        ///< on the path
  std::uint64_t rank_changes = 0;  ///< pieces on another rank than the one before
  std::vector<PathShare> classes;  ///< largest first
  std::vector<PathShare> ranks;    ///< by rank; the name is its number
};

/// The rank that the others wait for: most of the critical path runs on it, from the last start
/// that is as recorded to the last collective.
struct Straggler {
  std::int32_t rank = 0;          ///< which
  double share_of_path = 0;       ///< of that part of the path
  std::uint64_t collectives = 0;  ///< that several ranks joined
  std::uint64_t last = 0;         ///< of these, to which it came last
  Time waited;                    ///< by the others in those, summed over them
  Time for_host;                  ///< of that, while it was held up by a host
  double share_of_waiting = 0;    ///< of all waiting in collectives
};

/// A rank that comes last to collectives. Who waits for it by plan (waits_by_plan) is left out.
struct LateRank {
  std::int32_t rank = 0;   ///< which
  std::uint64_t last = 0;  ///< collectives it comes last to
  Time waited;             ///< by the others in those, as replayed, summed over them
  Time for_host;           ///< of that, for its host
};

/// How near the replay is to the recording, over all ranks and steps. Ratios, not percent.
struct Quality {
  std::uint64_t steps = 0;                               ///< that were compared
  double mean_abs_error = 0, max_abs_error = 0;          ///< host steps
  std::uint64_t gpu_steps = 0;                           ///< that were compared
  double mean_abs_gpu_error = 0, max_abs_gpu_error = 0;  ///< GPU steps
  double start_error_median = 0;  ///< median |start error| of all GPU tasks, of the mean window
  /// Largest difference of a part's share of a step, replayed against measured.
  double exposed_compute = 0, exposed_communication = 0, overlapped = 0, idle = 0;
  Time late;              ///< sum of late starts
  double late_share = 0;  ///< of all ranks' windows
};

/// What reports tell of a replay.
struct Summary {
  std::vector<RankSummary> ranks;              ///< as in the set
  std::vector<CollectiveSummary> collectives;  ///< most transfer time first
  PathSummary path;                            ///< critical path
  /// of the replayed run; nothing where no rank holds the others up
  std::optional<Straggler> straggler;
  std::vector<LateRank> late;  ///< who is waited for, most first
  Quality quality;             ///< how near the replay is
};

/// Sums up what `replay` made of `set`, the ranks on up to `threads` threads (0: all cores).
Summary summarise(const TraceSet& set, const Replay& replay, unsigned threads = 0);

/// An oddity of a recording, and where it was met.
struct RankedAnomaly {
  std::int32_t rank = -1;  ///< -1: of the whole set
  Anomaly anomaly;         ///< kind, count, first example
};

/// Of the files together, then of each file in order of ranks.
std::vector<RankedAnomaly> ranked_anomalies(const TraceSet& set);

}  // namespace flopcast
