// The host's waiting for data taken out of a run.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// All that lies under a data loader's rows (`enumerate(DataLoader)...`), on the thread that asks it
/// for the next batch: its work where it has no workers of its own, waiting for these where it has.
std::optional<Diagnostic> remove_data_loading(ChangedRun& run, const Change& change);

}  // namespace flopcast::whatif
