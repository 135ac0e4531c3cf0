// A laid-out draft as traces with rows, and as a recording.
#pragma once

#include "whatif/structure/written/draft.h"

namespace flopcast::whatif::structure {

/// The new run's rows and its graph, which holds on to them.
struct FinishedRun {
  std::shared_ptr<TraceSet> set;
  std::shared_ptr<replaying::Recording> recording;
  std::vector<std::string> steps;  ///< names of all its steps
  /// [rank][task]: its time is not that of its copies, but modelled
  std::vector<std::vector<std::uint8_t>> changed;
};

FinishedRun finish(const TraceSet& set, const replaying::Recording& recording,
                   const Library& library, Draft draft);

}  // namespace flopcast::whatif::structure
