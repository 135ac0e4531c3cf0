// A run on its way from the recording to the forecast: what every change works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "flopcast/replay/parts.h"
#include "flopcast/replay/steps.h"
#include "flopcast/whatif.h"
#include "flopcast/whatif/model.h"
#include "whatif/change/once.h"

namespace flopcast::whatif {

namespace planned {
struct Step;
}
namespace structure {
struct RecordedProgram;
}

/// What stands behind a recording, each found when a question first needs it. The recorded program is
/// constant: changes work on their own copies.
struct Findings {
  Once<TraceModel> model;
  Once<Result<structure::RecordedProgram>> program;
  Once<Result<planned::Step>> step;  ///< where it is of planned steps
};

using Bindings = std::vector<std::vector<replaying::Binding>>;        ///< [rank][GPU task]
using StepsOfRanks = std::vector<std::vector<replaying::StepTasks>>;  ///< [rank][step]

/// One source of doubt that a change brings: how much of the time of tasks it touched is uncertain.
/// The run is made again with those tasks at each end, and the difference is the band's part. Give
/// the 10 % and the 90 % point of what it may be.
struct Doubt {
  std::string what;                ///< "class ratio of GEMMs on mi300x"
  replaying::Durations low, high;  ///< all durations of the run, those in doubt at each end
};

/// What is run. A change of durations rewrites `durations`; one of order puts a changed copy of the
/// recording in; one of structure replaces everything.
struct ChangedRun {
  std::shared_ptr<const TraceSet> set;  ///< names and rows
  std::shared_ptr<const replaying::Recording> recording;
  std::shared_ptr<const Bindings> bindings;
  std::shared_ptr<const StepsOfRanks> steps;
  std::shared_ptr<const replaying::Parts> parts;   ///< of the work, by rank and GPU task
  std::shared_ptr<const replaying::Lags> lags;     ///< LagMode::kRecorded
  std::shared_ptr<const replaying::Lags> typical;  ///< LagMode::kTypical, for the band; may be null
  std::shared_ptr<Findings> found;                 ///< of `recording`
  replaying::Durations durations;                  ///< changed in place
  /// The run is not the recording's any more: emitted from its model. Then `judged` names the
  /// steps that stand for all (steady ones); empty: every step.
  bool emitted = false;
  std::size_t ranks = 0;  ///< that the run stands for, where these are not those it has; else 0
  std::vector<std::string> judged;
  std::string network;  ///< the cluster that a change of structure has moved transfers to already
  std::vector<WhatIfNote> notes;
  std::string caution;  ///< WhatIfAnswer::caution, so far
  std::vector<WhatIfRefusal> refused;
  std::vector<Doubt> doubts;
  std::string
      device;  ///< that kernels were taken from, as profilers call it; empty: the recording's

  const TraceModel& trace_model() const {
    return found->model.of([&] { return make_trace_model(*set, *recording); });
  }
};

}  // namespace flopcast::whatif
