// A rank made as fast as its equals.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// The rank that is named, or the one that the others wait for most, does what it does in the time
/// of the median of its equals.
std::optional<Diagnostic> remove_straggler(ChangedRun& run, const Change& change,
                                           const RemoveStraggler& asked);

}  // namespace flopcast::whatif
