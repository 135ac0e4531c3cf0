// The host's time taken away: all of it, or what launches cost where a graph launches a step.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// All the host does takes no time; what it waits for stays.
std::optional<Diagnostic> remove_host(ChangedRun& run, const Change& change);
/// As with CUDA graphs: of each step the first launch stays, and whatever the host does from there
/// to the step's last launch takes no time.
std::optional<Diagnostic> remove_launches(ChangedRun& run, const Change& change);

}  // namespace flopcast::whatif
