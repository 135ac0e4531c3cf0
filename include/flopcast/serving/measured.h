// Floor 5: measured deployments: what was run, what is wrong with the row, what we say of it; calibration by a point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving/fleet.h"

namespace flopcast {

/// One measured point: means over the requests of a closed loop.
struct ServingPoint {
  std::string id, engine, version, model, chip, precision, date, origin;
  bool disaggregated = false;
  std::int64_t input = 0, output = 0, users = 0;
  ServingLayout layout, decode;  ///< of the replica (or prefill pool), of the decode pool
  unsigned prefill_workers = 0, decode_workers = 0;  ///< 0: not told
  std::string gemm, experts;                         ///< quantisation as told
  Seconds ttft, tpot;                                ///< 0: not measured
  bool known_protocol = false;                       ///< the benchmark client is public
  std::string excluded;  ///< name of the rule that excludes it; empty: clean
};
/// A file of them, in the schema of docs/reference/serving.md. Errors name the entry.
Result<std::vector<ServingPoint>> read_serving_points(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<std::vector<ServingPoint>> parse_serving_points(std::string_view json,
                                                       const std::string& where);
/// Names the rule that excludes each: rests on metadata or contradictions between rows, never on our forecast.
void label_defects(std::vector<ServingPoint>& points);

/// What we say of one.
struct ServingForecast {
  const ServingPoint* point = nullptr;
  Seconds ttft, tpot;
  double ttft_low = 1, ttft_high = 1, tpot_low = 1, tpot_high = 1;  ///< band, factors
  std::string refused;  ///< why there is no forecast; empty: there is
  Basis basis = Basis::kAssumed;
};
/// In the order of the points. Deterministic for any number of threads.
std::vector<ServingForecast> forecast_points(std::span<const ServingPoint> points,
                                             const Catalog& catalog, unsigned threads = 0);

/// Factors that make the forecast of these points of one deployment theirs.
Result<ServingFactors> calibrate_serving(std::span<const ServingPoint> points,
                                         const Catalog& catalog);

}  // namespace flopcast
