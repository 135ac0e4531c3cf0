// All changes of structure of a question, made at once.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Puts the emitted run in the place of `run`, or says why not in run.refused. With the changes comes
/// the cluster that the new run is on, where one is named: it may tell how many ranks there are.
std::optional<Diagnostic> change_structure(ChangedRun& run, const ChangedRun& recorded,
                                           const std::vector<Change>& changes);

}  // namespace flopcast::whatif
