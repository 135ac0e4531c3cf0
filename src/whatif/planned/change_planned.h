// Changes of structure of a planned step.
#pragma once

#include "whatif/change/changed_run.h"
#include "whatif/change/structure_change.h"
#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// The run of another plan. kNoAnswer: evidence is missing, and which; kUsage: there is no such run.
Result<ChangedRun> change_planned(const TraceModel& model, const ChangedRun& recorded,
                                  const StructureChange& change);

}  // namespace flopcast::whatif::planned
