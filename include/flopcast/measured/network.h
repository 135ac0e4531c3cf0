// Floor 6: how well collectives are forecast: errors against measured rows, and by cross-validation.
//
//   auto samples = read_collective_samples("mine.csv", anomalies);
//   validate_collectives(*samples, CollectiveFit::builtin(), Catalog::builtin()).all.mape
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/network/fit.h"

namespace flopcast {

/// Errors of forecasts against measurements. All but the counts are fractions; `bias` is the mean
/// signed error.
struct CollectiveErrors {
  std::string group;       ///< "chip/system/operation/size class"; "all"
  std::uint64_t rows = 0;  ///< that were compared
  /// of |forecast / measured - 1|, but for the bias
  double mape = 0, median = 0, p95 = 0, bias = 0;
  double band_coverage = 0;  ///< share of rows inside the 10-90 % band
};
/// How well measurements are forecast.
struct CollectiveValidation {
  CollectiveErrors all;                  ///< over all rows
  std::vector<CollectiveErrors> groups;  ///< by chip and system, by operation, by size class, ...
  std::uint64_t unanswered = 0;          ///< rows without a forecast
  Anomalies anomalies;                   ///< rows that could not be used
};

/// What validation forecasts with.
struct ValidateOptions {
  CollectiveSource source = CollectiveSource::kBest;  ///< see CollectiveFit::curve
  /// one only; kAuto: NCCL's choice
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
};
/// Forecasts every sample and compares.
CollectiveValidation validate_collectives(std::span<const CollectiveSample> samples,
                                          const CollectiveFit& fit, const Catalog& catalog,
                                          const ValidateOptions& options = {});

/// What a cross-validation keeps out of the fit.
enum class CollectiveHoldOut : std::uint8_t {
  kSizes,      ///< every other size of each curve
  kRanks,      ///< each (system, ranks, nodes) in turn
  kNodes,      ///< each (system, nodes) in turn
  kLargest,    ///< the four largest sizes of each curve
  kCurves,     ///< a quarter of the curves at a time
  kLibraries,  ///< each (system, library) in turn
  kSystems,    ///< each system in turn
};
/// "sizes", "ranks", "nodes", "largest", "curves", "libraries", "systems"
std::optional<CollectiveHoldOut> parse_collective_hold_out(std::string_view text);
/// Fits on the rest, forecasts what was kept out.
CollectiveValidation hold_out_collectives(std::span<const CollectiveSample> samples,
                                          CollectiveHoldOut what, const Catalog& catalog,
                                          const ValidateOptions& options = {});

}  // namespace flopcast
