// What a run says about the traces' rows: times and steps.
#pragma once

#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

// Where `threads` are asked for, 0 is all cores.

/// The recorded times of every row on the aligned clock.
Timeline recorded_timeline(const TraceSet& set, const Recording& recording, unsigned threads);

/// The times of every row in a run of the graph; rows that are no tasks follow from `recorded`.
Timeline replayed_timeline(const Recording& recording, const Timeline& recorded,
                           const Assembly& assembly, const Run& run, unsigned threads);

/// Fills in what a run of the graph says: all of a Replay but what was met while the recording was
/// made (clocks, anomalies), its network and its sensitivity.
void tell_run(const TraceSet& set, const Recording& recording,
              const std::vector<std::vector<Binding>>& bindings, const Lags& lags,
              const Assembly& assembly, const Run& run, unsigned threads, Replay& out);

/// Steps of one rank, measured and replayed.
std::vector<StepResult> step_results(const TraceSet& set, const RankModel& rank,
                                     const Timeline& recorded, const Timeline& replayed);

}  // namespace flopcast::replaying
