// The table of host costs as a run uses it: what processes add to their clocks, and what the session adds.
#pragma once

#include "flopcast/live/host.h"
#include "live/engine/session/work.h"
#include "live/wire/host_costs.h"

namespace flopcast::live {

/// For the processes of a run.
HostCosts host_costs(const HostTable& table);
/// For its session.
HostTimes host_times(const HostTable& table);

}  // namespace flopcast::live
