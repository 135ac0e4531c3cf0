// A run on its way from the recording to the forecast: what every change works on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "flopcast/whatif.h"

namespace flopcast::whatif {

/// One source of doubt that a change brings: how much of the time of tasks it touched is uncertain.
/// The run is made again with those tasks at each end, and the difference is the band's part.
struct Doubt {
  std::string what;                ///< "class ratio of GEMMs on mi300x"
  replaying::Durations low, high;  ///< durations at each end
};

/// What is run: owned, because a change of structure has another.
struct ChangedRun {
  std::shared_ptr<const TraceSet> set;  ///< names and rows
  std::shared_ptr<const replaying::Recording> recording;
  std::shared_ptr<const std::vector<std::vector<replaying::Binding>>> bindings;
  replaying::Durations durations;  ///< changed in place
  replaying::Lags lags;            ///< LagMode::kRecorded
  /// Whether anything that may move another task's start was changed: the recording's timing
  /// (occupancy edges, partial rendezvous) then gives way to its structure.
  bool moved = false;
  std::vector<WhatIfNote> notes;
  std::vector<WhatIfRefusal> refused;
  std::vector<Doubt> doubts;
};

}  // namespace flopcast::whatif
