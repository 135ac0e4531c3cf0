// Floor 8: forecasts of measured training runs beside what was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flopcast/measured/training.h"

namespace flopcast {

/// Which runs of a file are looked at.
struct RunFilter {
  std::string quality;            ///< "A", "AB"; "": all
  std::vector<std::string> sets;  ///< empty: all
  /// only models without, only models with a mixture of experts; neither: all
  bool dense = false, experts = false;
  /// An incomplete run may not tell whether it has experts: then only quality and set count.
  bool takes(const TrainingRun& run) const;
};
/// A quality that there is not, or a set that no run is of, with the sets there are.
std::optional<Diagnostic> filter_problem(const RunFilter& filter,
                                         const std::vector<TrainingRun>& runs);

/// What the filter takes. Errors in it are forecast / measured - 1, as shares.
struct TrainingReport {
  std::vector<const RunForecast*> forecasts;   ///< failures included
  std::vector<const TrainingRun*> incomplete;  ///< cannot be forecast, and say why
};
/// Lives as long as the runs and forecasts it points to.
TrainingReport training_report(const std::vector<TrainingRun>& runs,
                               const std::vector<RunForecast>& forecasts, const RunFilter& filter);

/// Tables for a terminal. `cases`: with a line for each run.
std::string training_text(const TrainingReport& report, bool cases);
/// docs/reference/json.md, "validate training".
std::string training_json(const TrainingReport& report);
/// A line for each run: id, set, measured, forecast, band, where the time goes.
std::string training_csv(const TrainingReport& report);

}  // namespace flopcast
