// Floor 6: measured training runs, forecast one by one: what `flopcast validate training` shows and
// tools/fit_training.py fits constants to.
//
// A run is JSON: {"id", "model": {config.json or short form}, "system": {"gpu", "gpus",
// "gpus_per_node", "inter"}, "parallel": {"tp", "pp", "vp", "cp", "ep", "etp", "dp", "sp", "zero"},
// "batch": {"gbs", "mbs"}, "dtype", "recompute", "measured": {"iter_time_s", "memory_gib"},
// "quality", "missing"}. docs/reference/training-runs.md has every field.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/analytic.h"
#include "flopcast/base.h"

namespace flopcast {

/// What a run does not tell of its plan: a forecast fills it in.
struct OpenSettings {
  bool recompute = false;         ///< the least that fits
  bool micro_batch = false;       ///< that of the fastest step that fits
  bool layout = false;            ///< the fastest plan there is, with its microbatch
  std::int64_t accumulation = 0;  ///< microbatches of a step on a replica, of that layout; 0: any
};

/// One measured run, as its file tells it.
struct TrainingRun {
  std::string id, set, group;  ///< group: near-duplicates, which a fit keeps together
  /// A whole configuration, B one assumption, C so much is open that it is no evidence for a fit
  char quality = 'A';
  Model model;                       ///< what was trained
  std::string cluster;               ///< as one line: "16 x h100"
  std::string software;              ///< a profile of catalog/training/constants.toml
  int month = 0;                     ///< and year of the software, 202606; 0: not told
  Plan plan;                         ///< how it was spread
  unsigned chips = 0;                ///< that took part
  OpenSettings open;                 ///< what of the plan is not told
  double measured_s = 0;             ///< time of one step
  Bytes memory;                      ///< peak a chip reported, 0: none
  bool memory_reserved = false;      ///< of PyTorch's allocator: without context and NCCL
  bool experts = false;              ///< whether the model has a mixture of experts
  std::vector<std::string> assumed;  ///< what the run does not tell, and how it was taken
  /// What it tells and no forecast has, with what is taken instead; fields that nobody knows; fields without meaning
  /// for a forecast (sources, notes, other measures of the same step).
  std::vector<std::string> unmodelled, unknown, ignored;
  /// Why it cannot be forecast; then the fields above may be empty.
  std::string incomplete;
};

/// How runs are read.
struct RunReading {
  /// Sets of runs that are taken as never seen: what was found out about launches in these alone
  /// (catalog/training/launches.toml) is not used.
  std::vector<std::string> unseen_sets;
};
/// The first set taken as never seen that nobody knows, kUsage with those that are known: of `runs`, or those in which
/// something was found out about launches.
std::optional<Diagnostic> unseen_problem(const RunReading& reading,
                                         const std::vector<TrainingRun>& runs);
/// JSON ({"cases": [...]}, an array, or one run) or CSV with a header (set,gpus,gbs,mbs,hidden,heads,
/// layers,seq,tp,dp,pp,iter_ms). Errors name the file and the run.
Result<std::vector<TrainingRun>> read_training_runs(const std::filesystem::path& path,
                                                    const RunReading& reading = {});

/// Devices that programs see of a chip of the catalogue: one, or one for each of its cores.
unsigned devices_of(std::string_view chip);

/// A forecast beside the run.
struct RunForecast {
  const TrainingRun* run = nullptr;   ///< lives as long as the forecaster
  TrainingEstimate estimate;          ///< what was forecast
  Plan plan;                          ///< with what was open filled in
  std::optional<Diagnostic> failure;  ///< no estimate then
  /// forecast / measured - 1, a share
  double error() const { return estimate.step.value / run->measured_s - 1; }
  /// Of the fullest chip, as far as the run's way to measure sees it.
  Bytes memory() const {
    const StageMemory& all = estimate.memory();
    return run->memory_reserved ? all.total() - all.buffers : all.total();
  }
  /// Whether the measured time lies in the 10-90 % band.
  bool in_band() const {
    return run->measured_s >= estimate.low.value && run->measured_s <= estimate.high.value;
  }
};
/// How runs are forecast.
struct RunForecastOptions {
  std::vector<std::shared_ptr<const FitFile>> fits;  ///< constants over the catalogue's
  unsigned threads = 0;                              ///< 0: all cores
  std::vector<std::size_t> some;                     ///< places among the complete runs; none: all
  bool software_told = true;  ///< false: as if nobody had said which software it was
};
/// Forecasts the same runs again and again (a fit does), building each cluster once.
class RunForecaster {
 public:
  explicit RunForecaster(std::vector<TrainingRun> runs);  ///< incomplete runs may be among them
  const std::vector<TrainingRun>& runs() const;           ///< as given
  /// In the order of the runs, the same for any number of threads. Incomplete runs are left out.
  std::vector<RunForecast> forecast(const RunForecastOptions& options = {}) const;

  RunForecaster(RunForecaster&&) noexcept;
  RunForecaster& operator=(RunForecaster&&) noexcept;
  ~RunForecaster();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether both trained the same model on the same machine, with the same software and batch: then only
/// their plans tell them apart.
bool same_problem(const TrainingRun& a, const TrainingRun& b);

/// Errors over some forecasts; shares, not percent.
struct RunErrors {
  std::size_t n = 0;  ///< forecasts that failed are not counted
  /// Of forecast / measured - 1: mean size, mean, median, 90th percentile of the size, greatest size.
  double mape = 0, bias = 0, median = 0, p90 = 0, worst = 0;
  double band = 0;           ///< share of runs inside their band
  double spearman = 0;       ///< rank correlation of throughput per chip; NaN for fewer than 3 runs
  double memory_mape = 0;    ///< of the fullest chip's memory, over the runs that tell it
  std::size_t memory_n = 0;  ///< how many these are
};
/// Errors of forecasts against what their runs measured.
RunErrors run_errors(const std::vector<const RunForecast*>& forecasts);

}  // namespace flopcast
