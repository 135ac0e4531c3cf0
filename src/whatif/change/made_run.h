// What is run, made from rows and a graph.
#pragma once

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// The recording as it is: recorded durations, bindings, lags. `recording` points into `set`.
ChangedRun make_run(std::shared_ptr<const TraceSet> set, replaying::Recording recording,
                    unsigned threads);

}  // namespace flopcast::whatif
