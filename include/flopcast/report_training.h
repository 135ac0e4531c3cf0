// Floor 6: forecasts of measured training runs beside what was measured.
#pragma once

#include <string>
#include <vector>

#include "flopcast/analytic_runs.h"

namespace flopcast {

/// Which runs of a file are looked at.
struct RunFilter {
  std::string quality;            ///< "A", "AB"; "": all
  std::vector<std::string> sets;  ///< empty: all
  bool dense = false, experts = false;
  bool takes(const TrainingRun& run) const;
};

struct TrainingReport {
  const std::vector<TrainingRun>* runs = nullptr;
  std::vector<const RunForecast*> forecasts;  ///< that the filter takes, failures included
  RunFilter filter;
};
TrainingReport training_report(const std::vector<TrainingRun>& runs,
                               const std::vector<RunForecast>& forecasts, const RunFilter& filter);

std::string training_text(const TrainingReport& report, bool cases);
/// docs/reference/json.md, "validate training".
std::string training_json(const TrainingReport& report);
/// A line for each run: id, set, measured, forecast, band, where the time goes.
std::string training_csv(const TrainingReport& report);

}  // namespace flopcast
