// Floor 8: replays of many sets, and how near each is to its recording: `flopcast validate replay`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/report/summary.h"

namespace flopcast {

/// One run: what was replayed and what came of it, or why nothing did. Holds no trace, so that many
/// sets can be validated one after the other in the memory of the largest.
struct SetResult {
  std::string name;                             ///< of the set
  std::optional<Diagnostic> failure;            ///< set: nothing below is
  LagMode lags = LagMode::kTypical;             ///< as it was replayed
  Baseline baseline = Baseline::kNone;          ///< as it was replayed
  std::string structure_from, durations_from;   ///< empty unless asked for
  std::optional<NetworkUse> network;            ///< where a network model took part
  Summary summary;                              ///< what came of it
  std::optional<SensitivityTable> sensitivity;  ///< as of Replay
  std::string no_sensitivity;                   ///< as of Replay
  std::vector<EdgeCount> edges;                 ///< as of Replay
  std::vector<Pin> pinned;                      ///< as of Replay
  std::vector<Lag> lag_table;                   ///< as of Replay
  std::vector<RankClock> clocks;                ///< as of Replay
  Time clock_residual;                          ///< as of Replay
  std::vector<std::string> damage;              ///< as of Replay
  std::vector<KernelTotal> top_kernels;         ///< the longest
  /// A late start, with words instead of rows.
  struct Late {
    std::int32_t rank = 0;      ///< whose
    std::string name;           ///< of the task
    Time recorded_start, late;  ///< where it is in the recording; by how much it is late
  };
  std::vector<Late> late_starts;                 ///< largest first
  std::vector<RankedAnomaly> anomalies;          ///< of the set and its files
  std::vector<Diagnostic> unreadable;            ///< files that could not be read
  std::vector<std::string> truncated;            ///< files cut short, and what was read of them
  std::uint64_t task_count = 0, edge_count = 0;  ///< of the graph
  bool with_curves = false;  ///< JSON holds the utilisation of every millisecond
};

/// @param options those the replay was made with.
SetResult make_set_result(const TraceSet& set, const Replay& replay,
                          const ReplayOptions& options = {});
/// A set that could not be replayed, and why.
SetResult make_failed_result(std::string name, Diagnostic failure);

/// Over sets: means of the sets' means, the worst of their worst. Damaged and failed sets are left
/// out.
struct Overall {
  /// how many there are; left out as damaged, as failed
  std::uint64_t sets = 0, damaged = 0, failed = 0;
  std::uint64_t host_sets = 0, gpu_sets = 0;     ///< with host steps, with GPU steps to compare
  double mean_abs_error = 0, max_abs_error = 0;  ///< host steps
  double mean_abs_gpu_error = 0, max_abs_gpu_error = 0;  ///< GPU steps
};
/// Sums up what validation tells of every set.
Overall summarise_sets(const std::vector<SetResult>& sets);

/// One document for any number of sets; docs/reference/json.md describes it.
std::string sets_json(const std::vector<SetResult>& sets);
/// A row per set, then the worst steps.
std::string sets_text(const std::vector<SetResult>& sets);
/// Models of one set side by side.
std::string models_text(const std::vector<SetResult>& models);
/// A row per set, rank and step.
std::string sets_csv(const std::vector<SetResult>& sets);
/// One set, its verdict first. @param quality with all there is to say of the replay itself, not its errors alone
std::string set_text(const SetResult& set, bool quality = false);

}  // namespace flopcast
