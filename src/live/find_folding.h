// Which ranks of a run may stand for others: found by running a few of them alone, as far as their first step.
#pragma once

#include "live/engine/session/folding.h"
#include "live/live_run.h"

namespace flopcast::live {

/// Empty where every rank is to be there. Errors: those of a run; a program that tells too little of its groups.
Result<Folding> find_folding(const LiveRequest& request, const Catalog& catalog,
                             const LiveObserver& observer, const Cluster& cluster, Layout layout);

}  // namespace flopcast::live
