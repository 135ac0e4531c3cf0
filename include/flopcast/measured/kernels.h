// Floor 6: how well kernels are forecast: errors against measured rows, and by fits that were kept from them.
//
//   held_out_errors(chip, samples, KernelHoldOut::kRandom, 1)   one entry per operation and size class
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost/fit.h"

namespace flopcast {

/// Which samples to keep out of a fit, to be forecast by it.
enum class KernelHoldOut : std::uint8_t {
  kRandom,   ///< "rand20": a fifth of the rows
  kPairs,    ///< "nkpair": a fifth of the (n, k) of GEMMs, of the (heads, kv heads) of attention
  kLargest,  ///< "largest": the tenth with most FLOP (bytes, where there are none) per operation
  kSmallM,   ///< "smallm": GEMMs of m <= 4
  kTokens,   ///< "tokens": a fifth of the token counts of MoE layers
  kModels,  ///< "models": each MoE layer (memory-bound: width) in turn, a quarter of them at a time
};
/// by the names above
std::optional<KernelHoldOut> parse_kernel_hold_out(std::string_view text);
/// Fold (from 0) each sample is kept out in; -1: in none. Other folds than 0 only for kModels.
std::vector<int> hold_out_folds(std::span<const KernelSample> samples, KernelHoldOut kind,
                                std::uint64_t seed);

/// Errors of one operation and size class: fractions of the measured time.
struct KernelErrors {
  std::string chip, operation;  ///< "gemm bf16", "attention prefill bf16", "moe fp8", "rms_norm"
  std::string size_class;       ///< by measured time: "< 10 us"; "all" for the sum
  std::uint64_t rows = 0;       ///< how many were compared
  double mape = 0, median = 0, p95 = 0;  ///< of |predicted / measured - 1|
  double bias = 1;                       ///< median of predicted / measured
  double band_coverage = 0;              ///< share of measured times within [low, high]
  double band_width = 1;                 ///< median of sqrt(high / low)
};
/// A forecast of one sample.
struct KernelForecast {
  const KernelSample* sample = nullptr;  ///< lives as long as the samples
  KernelTime forecast;                   ///< of it
};
/// In the order of the samples.
std::vector<KernelForecast> forecast_all(const KernelModel& model,
                                         std::span<const KernelSample> samples);
/// One entry per operation and size class, operations in order of first appearance.
std::vector<KernelErrors> kernel_errors(std::string_view chip,
                                        std::span<const KernelForecast> forecasts);
/// Fits without what is kept out and forecasts that, fold by fold.
std::vector<KernelErrors> held_out_errors(const Chip& chip, std::span<const KernelSample> samples,
                                          KernelHoldOut kind, std::uint64_t seed);

}  // namespace flopcast
