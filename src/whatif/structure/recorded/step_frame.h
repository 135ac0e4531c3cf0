// What a library holds beside its stretches: lags, and steps' annotations against the host's work.
#pragma once

#include "whatif/structure/recorded/library.h"
#include "whatif/structure/recorded/recorded_cuts.h"

namespace flopcast::whatif::structure {

/// Fills in Library::lags and launch_latency: medians over ranks.
void add_typical_lags(const replaying::Recording& rec, const RecordedCuts& at, Library& out);

/// Fills in Library::frame: annotations of steps against the pieces of the thread that launches first.
void add_step_frame(const TraceSet& set, const replaying::Recording& rec, const RecordedCuts& at,
                    Library& out);

}  // namespace flopcast::whatif::structure
