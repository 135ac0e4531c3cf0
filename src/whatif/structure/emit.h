// What-ifs of structure: from the program found in a recording to the run that another plan, schedule
// or depth would have made, written as a recording of its own.
//
//   recorded/  Library: the recorded program cut into stretches, templates with their spread.
//              Made once of a recording, and constant
//   plan/      NewPlan: degrees, schedule, layers of each stage, what is asked or why it cannot be;
//              the stretches that it needs and nobody recorded; per rank, the order of stretches
//              and messages
//   written/   draft: pieces, calls, GPU tasks, waits by position; layout: their times, by a run of
//              the graph with typical lags; finish: rows, and a recording
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
#include "whatif/change/once.h"
#include "whatif/change/structure_change.h"
#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

/// A recorded program as all changes find it.
struct RecordedProgram {
  RankGrid grid;
  Library library;
  /// By how much of the recorded step a run is off that is put together again without any change: what
  /// was not understood. An error where that is too much.
  std::shared_ptr<Once<Result<double>>> off = std::make_shared<Once<Result<double>>>();
};

/// kNoAnswer: what the recording does not tell.
Result<RecordedProgram> read_program(const TraceModel& model, const TraceSet& set,
                                     const replaying::Recording& recording);

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
                        const replaying::Recording& recording, const RecordedProgram& program,
                        const StructureChange& change);

}  // namespace flopcast::whatif::structure
