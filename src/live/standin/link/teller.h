// Says where the threads of this process are, when the engine wants to know: nothing has gone on for long.
#pragma once

#include "live/wire/region.h"

namespace flopcast::live {

/// Starts the thread that does; it lives in real time, as long as the process.
void begin_telling(Stacks& stacks);

}  // namespace flopcast::live
