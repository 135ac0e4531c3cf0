// How sure a forecast is.
#pragma once

#include <vector>

#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// The steps that were judged and their ranks drawn anew, with replacement, again and again: where
/// 80 % of what they give lies.
WhatIfBand::Source resampled(const StepsOfRanks& steps, const TimedRun& run, const Judged& judged);
/// The sources as independent ones: widths add up as squares. Widest first; those without width are
/// left out.
WhatIfBand combined(Time answer, std::vector<WhatIfBand::Source> sources);

}  // namespace flopcast::whatif
