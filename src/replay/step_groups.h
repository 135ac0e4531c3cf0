// Which steps of a recording are alike.
#pragma once

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// Steps that all ranks have, by their calls; see StepComparison.
StepComparison group_steps(const TraceSet& set, const Recording& recording);

}  // namespace flopcast::replaying
