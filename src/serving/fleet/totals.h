// What clients saw, summed up.
#pragma once

#include "flopcast/serving/fleet.h"

namespace flopcast::serving {

/// Percentiles, counts and rates out of run.requests (and how many of them were lost, in run.lost), and of gaps
/// between tokens.
void add_totals(FleetRun& run, const TokenGaps& gaps);

}  // namespace flopcast::serving
