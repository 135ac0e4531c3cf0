// Floor 2, private to the calibration: rows that publishers copied from one system to another.
#pragma once

#include <vector>

#include "flopcast/network/fit.h"

namespace flopcast::network {

/// Leaves out what catalog/collectives/systems.toml knows to be copied: rows of such a system and operation that are
/// the same, time and all, of the system they were copied from. What somebody measured on the system stays.
void leave_out_copies(std::vector<CollectiveSample>& samples, Anomalies& anomalies);

}  // namespace flopcast::network
