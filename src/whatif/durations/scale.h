// Work made k times as long: kernels, collectives, the host, a rank.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Of collectives what they take once all ranks are there.
std::optional<Diagnostic> scale(ChangedRun& run, const Change& change, const Scale& asked);

}  // namespace flopcast::whatif
