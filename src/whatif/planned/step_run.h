// A step as a recording with its dependencies: rows, streams, messages.
//
// A message is a send on one chip and a receive on the other, posted when the one before it has
// come: both end together. All chips end their step together, with the fixed costs.
#pragma once

#include <memory>

#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// See the head of this file. `recording` points into `set`.
struct RecordedStep {
  std::shared_ptr<const TraceSet> set;
  replaying::Recording recording;
};

/// Runs it. kTooLarge as run_step.
Result<RecordedStep> run_recorded(const Step& step, const std::string& label);

}  // namespace flopcast::whatif::planned
