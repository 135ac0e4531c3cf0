// How far forecasts of measured points are off, and whether they rank layouts.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/numeric/quantile.h"
#include "base/numeric/rank_correlation.h"
#include "flopcast/measured/serving.h"

namespace flopcast {
namespace {

/// A forecast of one quantity beside its measurement; measured 0: none.
struct ForecastPair {
  double forecast = 0, measured = 0, low = 1, high = 1;
};

ForecastPair pair_of(const ServingForecast& f, ServingQuantity quantity) {
  const ServingPoint& p = *f.point;
  switch (quantity) {
    case ServingQuantity::kTtft:
      return {f.ttft.value, p.ttft.value, f.ttft_low, f.ttft_high};
    case ServingQuantity::kTpot:
      return {f.tpot.value, p.tpot.value, f.tpot_low, f.tpot_high};
    case ServingQuantity::kThroughput:
      break;
  }
  const Seconds slow_first{f.ttft.value * f.ttft_high}, slow_each{f.tpot.value * f.tpot_high};
  const Seconds fast_first{f.ttft.value * f.ttft_low}, fast_each{f.tpot.value * f.tpot_low};
  const double middle = p.throughput(f.ttft, f.tpot);
  if (middle <= 0) return {};
  return {middle, p.throughput(p.ttft, p.tpot), p.throughput(slow_first, slow_each) / middle,
          p.throughput(fast_first, fast_each) / middle};
}

/// Of those that were both measured and forecast.
ServingErrors errors_of_pairs(std::span<const ForecastPair> pairs) {
  ServingErrors out;
  std::vector<double> sizes;
  double logs = 0;
  for (const ForecastPair& pair : pairs) {
    if (pair.measured <= 0 || pair.forecast <= 0) continue;
    const double error = pair.forecast / pair.measured - 1;
    sizes.push_back(std::abs(error));
    out.bias += error;
    logs += std::abs(std::log(pair.forecast / pair.measured));
    const bool inside =
        pair.measured >= pair.forecast * pair.low && pair.measured <= pair.forecast * pair.high;
    out.band += inside ? 1 : 0;
  }
  out.n = sizes.size();
  if (out.n == 0) return out;
  const auto n = static_cast<double>(out.n);
  std::ranges::sort(sizes);
  out.mape = std::accumulate(sizes.begin(), sizes.end(), 0.0) / n;
  out.median = quantile(sizes, 0.5);
  out.p90 = quantile(sizes, 0.9);
  out.factor = std::exp(logs / n);
  out.bias /= n;
  out.band /= n;
  return out;
}

using LayoutDegrees = std::tuple<unsigned, unsigned, unsigned, unsigned>;
/// Measured and forecast tokens a second and chip of a layout: means where it was run more than once.
struct LayoutRates {
  double measured = 0, forecast = 0;
  std::size_t n = 0;
};

}  // namespace

ServingErrors serving_errors(std::span<const ServingForecast* const> forecasts,
                             ServingQuantity quantity) {
  std::vector<ForecastPair> pairs;
  for (const ServingForecast* f : forecasts) {
    if (f->refused.empty()) pairs.push_back(pair_of(*f, quantity));
  }
  return errors_of_pairs(pairs);
}

ServingErrors offline_errors(std::span<const OfflinePoint> points, bool experts) {
  std::vector<ForecastPair> pairs;
  for (const OfflinePoint& point : points) {
    if (point.experts == experts) pairs.push_back({point.forecast, point.tokens_per_s, 1, 1});
  }
  ServingErrors out = errors_of_pairs(pairs);
  out.band = 0;
  return out;
}

LayoutRanks layout_ranks(std::span<const ServingForecast* const> forecasts) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::int64_t,
                      std::int64_t, std::int64_t>,
           std::map<LayoutDegrees, LayoutRates>>
      sets;
  for (const ServingForecast* f : forecasts) {
    const ServingPoint& p = *f->point;
    const double measured = p.throughput(p.ttft, p.tpot), forecast = p.throughput(f->ttft, f->tpot);
    const bool usable = f->refused.empty() && p.excluded.empty() && !p.disaggregated;
    if (!usable || measured <= 0 || forecast <= 0) continue;
    LayoutRates& rates = sets[{p.engine, p.model, p.chip, p.precision, p.input, p.output, p.users}]
                             [{p.layout.tp, p.layout.dp, p.layout.ep, p.layout.pp}];
    rates.measured += measured;
    rates.forecast += forecast;
    ++rates.n;
  }
  LayoutRanks out;
  constexpr std::size_t kLeastLayouts = 3;
  for (const auto& [key, layouts] : sets) {
    if (layouts.size() < kLeastLayouts) continue;
    std::vector<double> measured, forecast;
    for (const auto& [degrees, rates] : layouts) {
      measured.push_back(rates.measured / static_cast<double>(rates.n));
      forecast.push_back(rates.forecast / static_cast<double>(rates.n));
    }
    const auto picked = std::ranges::max_element(forecast) - forecast.begin();
    out.spearman += rank_correlation(measured, forecast);
    out.lost += 1 - measured[static_cast<std::size_t>(picked)] / std::ranges::max(measured);
    ++out.sets;
  }
  if (out.sets > 0) {
    out.spearman /= static_cast<double>(out.sets);
    out.lost /= static_cast<double>(out.sets);
  }
  return out;
}

}  // namespace flopcast
