// Floor 8: forecasts of kernels, and their errors against measurements, as text and JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"
#include "flopcast/measured/kernels.h"

namespace flopcast {

/// "gemm bf16 8192 x 8192 x 8192".
std::string kernel_words(const Kernel& kernel);

/// A question of `flopcast cost`, and its answer.
struct KernelReport {
  Kernel kernel;                  ///< what was asked
  std::string chip;               ///< by name
  KernelTime time;                ///< the answer
  std::vector<FitNote> own_fits;  ///< of the chip
};
/// For people: time and band, share of the roofline, rate, traffic, basis and source.
std::string kernel_text(const KernelReport& report);
/// docs/reference/json.md, "cost".
std::string kernel_json(const KernelReport& report);

/// Errors of many forecasts, a row for each chip, operation and size class.
/// @param what in words: "in the sample", "kept out: rand20, seed 1".
std::string kernel_errors_text(std::span<const KernelErrors> errors, std::string_view what);
/// Errors are fractions of the measured time ("unit": "fraction").
std::string kernel_errors_json(std::span<const KernelErrors> errors, std::string_view what,
                               const Anomalies& anomalies);

}  // namespace flopcast
