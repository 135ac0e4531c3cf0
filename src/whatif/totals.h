// What a run costs beside time.
#pragma once

#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// Energy of a step, all GPUs at their power limit: of the chip that kernels were moved to, else of
/// the one that the recording names. What a change told already is kept.
WhatIfTotals totals_of(const ChangedRun& run, const WhatIfChanges& asked, Time step);

}  // namespace flopcast::whatif
