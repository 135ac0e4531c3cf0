// How sure a forecast is.
#pragma once

#include <vector>

#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// Steps and ranks drawn anew, with replacement, again and again: where 80 % of the medians lie.
WhatIfBand::Source resampled(const StepsOfRanks& steps, const TimedRun& run,
                             const std::vector<std::string>& names, Time answer);
/// The sources as independent ones: widths add up as squares. Widest first; those without width are
/// left out.
WhatIfBand combined(Time answer, std::vector<WhatIfBand::Source> sources);

}  // namespace flopcast::whatif
