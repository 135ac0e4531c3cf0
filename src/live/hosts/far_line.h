// What a machine sends of one of its processes, as its region here has it from then on.
#pragma once

#include "live/engine/daemon/far.h"
#include "live/hosts/frame.h"

namespace flopcast::live {

/// @param frame behind the number of the line. Spoiled where it makes no sense; whatever it holds, nothing else is written
/// @param bell of those who read records
void hear_of_line(FarLine& line, FrameReader& frame, Doorbell& bell);

}  // namespace flopcast::live
