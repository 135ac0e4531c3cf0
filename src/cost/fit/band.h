// The 10-90 % band of a fit, from residuals of rows it was not fitted to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/model/fits.h"

namespace flopcast::cost {

/// Marks about a fifth of the rows, by a fixed hash of their index.
std::vector<std::uint8_t> held_out_fifth(std::size_t rows);

/// One row's outcome.
struct Outcome {
  double predicted_s = 0, measured_s = 0;
};
/// Quantiles per size class; a class with few rows takes those of all. Contains 1.
Band band_of(std::span<const Outcome> outcomes);

}  // namespace flopcast::cost
