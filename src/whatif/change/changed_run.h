// A run on its way from the recording to the forecast: what every change works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "flopcast/replay/parts.h"
#include "flopcast/replay/steps.h"
#include "whatif/change/change.h"
#include "whatif/change/found_model.h"

namespace flopcast::whatif {

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
  std::shared_ptr<FoundModel> model;               ///< of `recording`
  replaying::Durations durations;                  ///< changed in place
  /// The run is not the recording's any more: emitted from its model. Then `judged` names the
  /// steps that stand for all (steady ones); empty: every step.
  bool emitted = false;
  std::size_t ranks = 0;  ///< that the run stands for, where these are not those it has; else 0
  std::vector<std::string> judged;
  std::string network;  ///< the cluster that a change of structure has moved transfers to already
  std::vector<WhatIfNote> notes;
  std::vector<WhatIfRefusal> refused;
  std::vector<Doubt> doubts;
  std::string
      device;  ///< that kernels were taken from, as profilers call it; empty: the recording's
};

/// How a change is made. What the recording lacks goes to run.refused; kUsage where what is named
/// does not exist (a chip, a cluster, a file). Works on what `run` holds, not on what was recorded:
/// an earlier change may have replaced it. `recorded` is the run without any change.
using Apply = std::optional<Diagnostic> (*)(ChangedRun& run, const ChangedRun& recorded,
                                            const Change& change);
/// How all changes of structure are made, at once; with them comes the cluster, where one is named.
using Emit = std::optional<Diagnostic> (*)(ChangedRun& run, const ChangedRun& recorded,
                                           const std::vector<Change>& changes);

}  // namespace flopcast::whatif
