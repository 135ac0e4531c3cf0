#include "network/fit/bands.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/quantile.h"
#include "network/fit/constants.h"

namespace flopcast::network {

std::size_t size_class(double bytes) {
  return bytes < 64 * 1024 ? 0 : bytes < 4 * 1048576 ? 1 : bytes < 64 * 1048576 ? 2 : 3;
}

std::string_view size_class_name(std::size_t size_class) {
  constexpr std::string_view kNames[] = {"< 64 KB", "64 KB - 4 MB", "4 - 64 MB", ">= 64 MB"};
  return kNames[size_class];
}

namespace {

/// Scores by size class; the last: all of them, for classes that have too few.
using Scores = std::array<std::vector<double>, kSizeClasses + 1>;

/// Quantiles of few curves say little: they are drawn towards `usual` as if that were so many curves' more.
Band drawn(const Band& own, std::size_t scores, const Band& usual) {
  const FitConstants& c = fit_constants();
  const double curves = static_cast<double>(scores) / c.scores_per_curve;
  const double share = curves / (curves + c.usual_curves);
  return {own.low * share + usual.low * (1 - share), own.high * share + usual.high * (1 - share)};
}

/// @param otherwise where there are too few scores
Bands bands_of(Scores scores, const Band& otherwise, double widen) {
  const auto enough = static_cast<std::size_t>(fit_constants().enough_scores);
  for (auto& values : scores) std::ranges::sort(values);
  Bands bands;
  bands.fill(otherwise);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const auto& own = scores[i].size() >= enough ? scores[i] : scores.back();
    if (own.size() < enough) continue;
    const Band found{widen * std::min(quantile(own, 0.1), 0.0),
                     widen * std::max(quantile(own, 0.9), 0.0)};
    const Band band = drawn(found, own.size(), otherwise);
    bands[i] = {to_digits(band.low, kTimeDigits), to_digits(band.high, kTimeDigits)};
  }
  return bands;
}

}  // namespace

Bands bands_of(const std::vector<Kriging::Miss>& misses) {
  Scores scores;
  for (const Kriging::Miss& miss : misses) {
    scores[size_class(std::exp2(miss.log2_size))].push_back(miss.error / miss.sd);
    scores.back().push_back(miss.error / miss.sd);
  }
  constexpr Band kUsual{-1, 1};
  return bands_of(std::move(scores), kUsual, fit_constants().seen);
}

Bands bands_between(const std::vector<MeasuredCurve>& curves) {
  Scores scores;
  for (const MeasuredCurve& measured : curves) {
    const std::vector<double>& size = measured.curve.log2_size;
    const std::vector<double>& time = measured.curve.log_time;
    for (std::size_t i = 1; i + 1 < size.size(); ++i) {
      const double share = (size[i] - size[i - 1]) / (size[i + 1] - size[i - 1]);
      const double miss = time[i] - (time[i - 1] + share * (time[i + 1] - time[i - 1]));
      scores[size_class(std::exp2(size[i]))].push_back(miss);
      scores.back().push_back(miss);
    }
  }
  return bands_of(std::move(scores), Band{0, 0}, 1);
}

}  // namespace flopcast::network
