// The band of a forecast whose software nobody told: catalog/training/bands.toml, by tools/training_bands.py.
#pragma once

#include <string_view>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast::analytic {

/// 10 and 90 % quantiles of measured / forecast.
struct StepBand {
  double low = 1, high = 1;
};
/// Over whatever software public runs had, forecast with the catalogue's first; wider on chips of an architecture
/// that none of them was on.
StepBand unstated_band(const Chip& chip, bool experts);
/// From the text of such a file. Errors name what is missing, or no band.
Result<StepBand> parse_unstated_band(std::string_view text, const std::string& where,
                                     const Chip& chip, bool experts);

}  // namespace flopcast::analytic
