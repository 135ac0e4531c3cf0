#include "cost/fit/band.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/mix.h"
#include "base/numeric/quantile.h"

namespace flopcast::cost {

Band Band::widened(double factor) const {
  const double extra = std::log(factor);
  Band out;
  for (std::size_t i = 0; i < kClasses; ++i) {
    out.low[i] = std::exp(-std::hypot(std::log(low[i]), extra));
    out.high[i] = std::exp(std::hypot(std::log(high[i]), extra));
  }
  return out;
}

std::string_view size_class_name(std::size_t size_class) {
  constexpr std::string_view kNames[Band::kClasses] = {"< 10 us", "10-100 us", "100 us-1 ms",
                                                       "> 1 ms"};
  return kNames[size_class];
}

std::vector<std::uint8_t> held_out_fifth(std::size_t rows) {
  std::vector<std::uint8_t> held(rows);
  for (std::size_t i = 0; i < rows; ++i) held[i] = mix(i) % 5 == 0 ? 1 : 0;
  return held;
}

Band band_of(std::span<const Outcome> outcomes) {
  constexpr std::size_t kFew = 30;
  std::vector<double> all;
  std::array<std::vector<double>, Band::kClasses> by_class;
  for (const Outcome& o : outcomes) {
    const double ratio = o.measured_s / o.predicted_s;
    all.push_back(ratio);
    by_class[Band::size_class(o.predicted_s)].push_back(ratio);
  }
  Band band;
  if (all.empty()) return band;
  for (std::size_t i = 0; i < Band::kClasses; ++i) {
    std::vector<double>& ratios = by_class[i].size() < kFew ? all : by_class[i];
    std::ranges::sort(ratios);
    band.low[i] = std::min(1.0, quantile(ratios, 0.1));
    band.high[i] = std::max(1.0, quantile(ratios, 0.9));
  }
  return band;
}

}  // namespace flopcast::cost
