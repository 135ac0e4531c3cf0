// What a chip of the catalogue says of itself to programs.
#pragma once

#include "flopcast/hardware.h"
#include "live/wire/region.h"

namespace flopcast::live {

DeviceFacts device_facts(const Chip& chip);
/// Its highest clock: that at which it reaches the published rates. 0: not known.
double highest_hertz(const Chip& chip);
/// With the links between the chips of a node.
DeviceFacts device_facts(const Cluster& cluster, const Catalog& catalog);

}  // namespace flopcast::live
