// A file of measured points, labelled and forecast.
#include <algorithm>

#include "flopcast/measured/serving.h"
#include "flopcast/serving/iteration.h"

namespace flopcast {
namespace {

/// Clean aggregated points of the public client come first, other clean ones next, excluded ones last.
int order_of(const ServingPoint& p) {
  if (!p.excluded.empty()) return 2;
  return p.known_protocol && !p.disaggregated ? 0 : 1;
}

}  // namespace

bool ServingFilter::takes(const ServingPoint& point) const {
  const auto among = [](const std::vector<std::string>& list, auto takes) {
    return list.empty() || std::ranges::any_of(list, takes);
  };
  return (engine.empty() || engine == point.engine) &&
         among(chips, [&](const std::string& chip) { return point.chip.starts_with(chip); }) &&
         among(models, [&](const std::string& word) {
           return point.model.find(word) != std::string::npos;
         });
}

Result<ServingValidation> validate_serving(const std::filesystem::path& path,
                                           const Catalog& catalog,
                                           const ServingValidationOptions& options) {
  if (!options.constants.empty()) {
    if (const auto error = replace_serving_constants(options.constants)) return *error;
  }
  Result<std::vector<ServingPoint>> points = read_serving_points(path);
  if (!points) return points.error();
  Result<std::vector<OfflinePoint>> offline = read_offline_points(path);
  if (!offline) return offline.error();
  label_defects(*points);  // rows that are not asked for may contradict those that are
  std::erase_if(*points, [&](const ServingPoint& p) { return !options.filter.takes(p); });
  if (points->empty()) {
    return Diagnostic{ErrorCode::kUsage, path.string(),
                      "no point is of this engine, chip and model",
                      "leave out --engine, --chip or --model"};
  }
  std::ranges::stable_sort(*points, {}, order_of);
  ServingValidation out;
  out.points = std::move(*points);
  const auto until = [&](int order) {
    const auto n = std::ranges::count_if(
        out.points, [&](const ServingPoint& p) { return order_of(p) <= order; });
    return std::span(out.points.data(), static_cast<std::size_t>(n));
  };
  out.forecasts = forecast_points(until(1), catalog, options.threads);
  if (options.siblings) out.siblings = forecast_siblings(until(0), catalog, options.threads);
  out.offline = std::move(*offline);
  if (options.offline) forecast_offline(out.offline, catalog, options.threads);
  return out;
}

}  // namespace flopcast
