// A run of the engine, and what its steps take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// A changed run laid out and run.
struct TimedRun {
  replaying::Assembly assembly;
  Run run;
  std::vector<std::vector<replaying::StepTime>> steps;  ///< [rank][step]
};
/// kNoAnswer where the run cannot finish: ranks wait for each other.
Result<TimedRun> time_run(const ChangedRun& run, const replaying::Lags& lags);
/// The same with other durations.
Result<TimedRun> time_run(const ChangedRun& run, const replaying::Durations& durations,
                          const replaying::Lags& lags);

/// One step: means over the ranks that have it.
struct JudgedStep {
  std::string name;
  std::optional<Time> gpu;  ///< nothing where no rank has GPU work in it
  Time host;
  bool counts = true;  ///< false: the first one, told but not judged
};
/// What a run is judged by: middles over its steps.
struct Judged {
  std::vector<JudgedStep> steps;  ///< in order
  std::optional<Time> gpu;        ///< nothing where there is no GPU work
  Time host;
};
/// @param names of the steps that are judged, "ProfilerStep#12" or "12"; empty: all but the first,
/// where others have GPU work: its GPU step begins with the host's, not where another ends.
Judged judge(const StepsOfRanks& steps, const std::vector<std::vector<replaying::StepTime>>& times,
             const std::vector<std::string>& names);
/// Whether a step's name is among those asked for.
bool is_judged(const std::string& step, const std::vector<std::string>& names);

/// The mean of the values within a quarter of their median: steps take turns (an optimizer that is
/// run every second step), so that the one in the middle is none of them; and some start cold, or
/// are held up. Their median where none is near it. @pre not empty
Time usual(const std::vector<Time>& values);

}  // namespace flopcast::whatif
