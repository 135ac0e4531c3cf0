// What-ifs of structure: from the program found in a recording to the run that another plan, schedule
// or depth would have made, written as a recording of its own.
//
//   Library   the recorded program cut into stretches: templates with their spread        library
//   NewPlan   degrees, schedule, layers of each stage: what is asked, or why it cannot be  new_plan
//   program   per rank, the order of stretches and messages                                rank_program
//   draft     pieces, calls, GPU tasks, waits by position                                  draft
//   layout    times: a run of the graph with typical lags                                  layout
//
// Rules that find dependencies by timing never see the new run: what waits for what is copied by
// position.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "flopcast/whatif.h"
#include "flopcast/whatif/model.h"
#include "whatif/change/structure_change.h"

namespace flopcast::whatif::structure {

/// A run that was never recorded.
struct EmittedRun {
  std::shared_ptr<const TraceSet> set;
  std::shared_ptr<replaying::Recording> recording;
  std::vector<std::string> steady;  ///< names of the steps to judge: the others fill the pipeline
  std::vector<WhatIfNote> notes;
  /// Of the durations of `recording`: what each source of doubt makes them at its ends.
  struct Doubt {
    std::string what;
    replaying::Durations low, high;
  };
  std::vector<Doubt> doubts;
};

/// kNoAnswer: evidence is missing, and which; kUsage: there is no such run.
Result<EmittedRun> emit(const TraceModel& model, const TraceSet& set,
                        const replaying::Recording& recording, const StructureChange& change);

}  // namespace flopcast::whatif::structure
