// What an emitted run rests on, and how far off that may be.
#pragma once

#include "whatif/structure/written/finish.h"

namespace flopcast::whatif::structure {

/// Notes and doubts of the run. @param off the recorded step, by how much a run is that is put
/// together again without any change.
void add_evidence(const Library& library, const NewPlan& plan, const Sizes& sizes,
                  const StructureChange& change, const FinishedRun& run, double off,
                  EmittedRun& out);

}  // namespace flopcast::whatif::structure
