// All changes of structure of a question, made at once.
#pragma once

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Puts the emitted run in the place of `run`. See Emit.
std::optional<Diagnostic> change_structure(ChangedRun& run, const ChangedRun& recorded,
                                           const std::vector<Change>& changes);

}  // namespace flopcast::whatif
