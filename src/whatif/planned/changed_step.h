// The step of another plan, from what a recorded one is made of.
#pragma once

#include "whatif/change/structure_change.h"
#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// See the head of this file.
struct ChangedStep {
  Step step;
  bool other_passes = false;     ///< stages were put together of other layers than recorded
  bool other_transfers = false;  ///< what is sent once a step was modelled
  std::string transfers_by;      ///< how: "the network of ...", "the bytes on a ring's links"
  std::vector<std::string> assumed;
};

/// kNoAnswer: what the recording lacks; kUsage: there is no such plan.
Result<ChangedStep> change_step(const Step& recorded, const StructureChange& change);

}  // namespace flopcast::whatif::planned
