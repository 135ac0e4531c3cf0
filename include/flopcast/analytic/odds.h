// Floor 5: how well forecasts of plans are known: whether a plan fits into memory, and whether one is
// faster than another. catalog/training/bands.toml holds the constants, found in measured runs by
// tools/training_bands.py; docs/theory/search.md has what they mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// What [memory] and [ties] of the catalogue's bands say.
struct PlanOdds {
  double memory_low = 1, memory_high = 1;  ///< 10 and 90 % quantiles of measured over forecast
  /// Two plans of one model on one machine whose forecasts differ by less than this factor come out the
  /// other way round in a third of the measured pairs or more: of the step's time, of a chip's memory.
  double tie_time = 1, tie_memory = 1;
};
/// Of the catalogue.
const PlanOdds& plan_odds();
/// The same of such a file's text. Errors (kBadInput): a number is missing or cannot be.
Result<PlanOdds> parse_plan_odds(std::string_view text, const std::string& where);

/// How likely a plan that is forecast to need so much fits into `capacity`, 0 to 1: half where both are
/// equal; measured over forecast is taken as log-normal on either side, through the band's quantiles.
double fit_odds(Bytes forecast, Bytes capacity);
/// The largest forecast that fits with these odds. @pre 0 < odds < 1
Bytes largest_fitting(Bytes capacity, double odds);
/// "fits: 93 %", "fits: > 99 %".
std::string odds_words(double odds);
/// Odds of which nothing comes: none between 0 and 1. @param where names them for the error
std::optional<Diagnostic> odds_problem(std::string_view where, double odds);

}  // namespace flopcast
