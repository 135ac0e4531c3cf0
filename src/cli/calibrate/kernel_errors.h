// Errors of forecast kernels, as a table and as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flopcast/cost/fit.h"

namespace flopcast::cli {

/// @param what in words: "in the sample", "kept out: rand20, seed 1".
std::string kernel_errors_text(std::span<const KernelErrors> errors, std::string_view what);
/// Errors are fractions of the measured time ("unit": "fraction").
std::string kernel_errors_json(std::span<const KernelErrors> errors, std::string_view what,
                               const Anomalies& anomalies);

}  // namespace flopcast::cli
