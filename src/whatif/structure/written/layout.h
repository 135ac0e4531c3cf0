// Times for a new run: its graph, run once with the recording's typical lags.
#pragma once

#include "whatif/structure/written/draft.h"

namespace flopcast::whatif::structure {

/// Gives every piece, call and GPU task of the draft its times. kNoAnswer: the run waits in a circle.
std::optional<Diagnostic> lay_out(const replaying::Recording& recording, const Library& library,
                                  const TraceSet& set, Draft& draft);

}  // namespace flopcast::whatif::structure
