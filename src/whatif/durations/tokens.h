// More or fewer tokens for a GPU in each step, in the same launches.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Forward and backward grow with the tokens, each kernel by what its shapes tell of it; the
/// optimizer, gradients' collectives and whatever works on weights alone stay. Sequences keep their
/// length: there are more of them.
std::optional<Diagnostic> set_tokens(ChangedRun& run, const Change& change, const SetTokens& asked);

}  // namespace flopcast::whatif
