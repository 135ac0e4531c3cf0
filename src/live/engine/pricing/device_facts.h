// What a chip of the catalogue says of itself to programs.
#pragma once

#include "flopcast/hardware.h"
#include "live/wire/region.h"

namespace flopcast::live {

DeviceFacts device_facts(const Chip& chip);

}  // namespace flopcast::live
