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
  T measured{};
  T replayed{};
};

struct StepSummary {
  std::string name;
  Pair<Time> host;                ///< length of the step on the host
  std::optional<double> error;    ///< of the host step
  std::optional<Pair<Time>> gpu;  ///< length of the GPU step, where there is one
  std::optional<double> gpu_error;
  Pair<Breakdown> parts;            ///< GPU time within the host step
  double start_error_median_s = 0;  ///< of its GPU tasks
};

struct RankSummary {
  std::int32_t rank = 0;
  std::string file;
  std::vector<StepSummary> steps;
  // The window: first start to last end of any GPU row, or of any row where there is no GPU row.
  Pair<Time> window;
  Pair<Breakdown> parts;
  Pair<double> sms_used;          ///< share of SM time; negative where unknown
  Pair<Utilisation> utilisation;  ///< of the windows, per millisecond
};

/// All collectives of one name and group, summed over instances and ranks.
struct CollectiveSummary {
  std::string name;
  std::string group;
  std::uint64_t count = 0;
  std::uint64_t ranks = 0;           ///< the most members an instance has
  std::uint64_t not_rendezvous = 0;  ///< instances that some rank had left before another came
  std::int64_t bytes = 0;            ///< sum over instances; 0 where unknown
  Pair<Time> wait, transfer;         ///< sums over all members
};

/// What the critical path consists of. Classes are those of `path_class`.
struct PathShare {
  std::string name;
  std::uint64_t pieces = 0;
  Time time;
};
struct PathSummary {
  Time length;
  std::uint64_t pieces = 0;
  std::uint64_t rank_changes = 0;
  std::vector<PathShare> classes;  ///< largest first
  std::vector<PathShare> ranks;    ///< by rank; the name is its number
};

/// How near the replay is to the recording, over all ranks and steps. Ratios, not percent.
struct Quality {
  std::uint64_t steps = 0;
  double mean_abs_error = 0, max_abs_error = 0;  ///< host steps
  std::uint64_t gpu_steps = 0;
  double mean_abs_gpu_error = 0, max_abs_gpu_error = 0;  ///< GPU steps
  double start_error_median = 0;  ///< median |start error| of all GPU tasks, of the mean window
  // Largest difference of a part's share of a step, replayed against measured.
  double exposed_compute = 0, exposed_communication = 0, overlapped = 0, idle = 0;
  Time late;              ///< sum of late starts
  double late_share = 0;  ///< of all ranks' windows
};

struct Summary {
  std::vector<RankSummary> ranks;
  std::vector<CollectiveSummary> collectives;  ///< most transfer time first
  PathSummary path;
  Quality quality;
};

Summary summarise(const TraceSet& set, const Replay& replay);

/// An oddity of a recording, and where it was met.
struct RankedAnomaly {
  std::int32_t rank = -1;  ///< -1: of the whole set
  Anomaly anomaly;
};

/// Of the files together, then of each file in order of ranks.
std::vector<RankedAnomaly> ranked_anomalies(const TraceSet& set);

}  // namespace flopcast
