// Communication and computation side by side, or one after the other.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Each collective waits for what was launched before it on the computing streams of its rank, and
/// what is launched there after it waits for the collective.
std::optional<Diagnostic> remove_overlap(ChangedRun& run, const Change& change);

/// Gradients' collectives are waited for by the optimizer, and no sooner. With an operation named
/// ("all_reduce"), all collectives of that operation before the optimizer: what reads their results
/// sooner reads them too early then, and the answer is a bound.
std::optional<Diagnostic> add_overlap(ChangedRun& run, const Change& change,
                                      const AddOverlap& asked);

}  // namespace flopcast::whatif
