// Machines that were started with the same request are one run.
#pragma once

#include "flopcast/live.h"
#include "live/host_processes.h"
#include "live/hosts/gateway.h"

namespace flopcast::live {

/// Errors: no place to meet, no token, more machines than a run may have.
Result<MachineGroup> group_of(const LiveRequest& request, Layout layout);

}  // namespace flopcast::live
