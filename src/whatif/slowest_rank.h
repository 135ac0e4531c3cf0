// The rank that a step would be shorter without.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// The rank that is named, or the one of which the step gains most, does what it does in the time of the median of
/// its equals. Where no rank is named and the step gains of none, nothing changes and a note says so.
std::optional<Diagnostic> remove_straggler(ChangedRun& run, const Change& change,
                                           const RemoveStraggler& asked);

}  // namespace flopcast::whatif
