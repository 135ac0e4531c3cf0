// What a change makes of a run may be longer than the clock: found before anything is summed.
#pragma once

#include <optional>
#include <string>

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// In words, with the task that takes longest, why no run of these durations (or at an end of a doubt) has a time:
/// one rank's alone are too many. What ranks make each other wait for, the engine finds.
std::optional<std::string> beyond_any_run(const ChangedRun& run);

}  // namespace flopcast::whatif
