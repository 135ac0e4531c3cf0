// A recording made ready for questions: what is computed once.
#pragma once

#include <memory>
#include <vector>

#include "whatif/breakdown.h"
#include "whatif/timed_run.h"
#include "whatif/totals/totals.h"

namespace flopcast::whatif {

/// What every question starts from.
struct Prepared {
  ChangedRun recorded;                          ///< without any change
  TimedRun before;                              ///< with recorded lags
  TimedRun typical;                             ///< with typical lags
  std::vector<CollectiveInstance> collectives;  ///< with typical lags: as replays tell them
  Breakdown parts;  ///< where the GPU step goes with recorded lags, unless steps are named
  std::vector<std::string> damage;
  std::vector<RankClock> clocks;  ///< for replays
  Time clock_residual;
  Anomalies anomalies;
  std::shared_ptr<const TotalsFinder> totals;  ///< with what was told beside the recording
  unsigned threads = 0;
};
/// kBadInput where the traces hold nothing that could be run.
Result<Prepared> prepare(std::shared_ptr<const TraceSet> set, unsigned threads);

}  // namespace flopcast::whatif

namespace flopcast {

/// The same, under the class that holds it.
struct WhatIf::Prepared : whatif::Prepared {
  explicit Prepared(whatif::Prepared made) : whatif::Prepared(std::move(made)) {}
};

}  // namespace flopcast
