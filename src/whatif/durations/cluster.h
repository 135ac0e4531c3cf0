// The same run on another network.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Collectives take what the network of a cluster gives them, "64 x dgx-h100"; its own band is a
/// doubt. An error for a cluster that there is not, or that has too few chips.
std::optional<Diagnostic> replace_network(ChangedRun& run, const Change& change,
                                          const OnCluster& to);

}  // namespace flopcast::whatif
