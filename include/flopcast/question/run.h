// Floor 7: what is asked of a whole training run, as flags and Python have it.
#pragma once

#include <optional>
#include <string>

#include "flopcast/analytic/whole_run.h"

namespace flopcast {

/// Texts as people write them; empty: not told.
struct RunSettings {
  std::string tokens, steps;                  ///< how long it is, by one of them: "15T", "500000"
  std::string chip_mtbf;                      ///< between two failures of one chip: "50000h"
  std::string checkpoint_time, restart_time;  ///< for which training stands still: "30s", "10min"
  double co2 = 0;                             ///< kg a kWh of electricity
  double pue = 1;                             ///< energy of the site over that of its chips
};

/// The question, but for its price; none where neither tokens nor steps are told. Errors (kUsage), each with the name of
/// the setting: a text that is no number or no time; failures or energy of a run that nobody asked for.
Result<std::optional<RunQuestion>> run_question(const RunSettings& settings);

}  // namespace flopcast
