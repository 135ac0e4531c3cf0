// Floor 2, private to the calibration: time over message size of one case.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/network/fit.h"

namespace flopcast::network {

/// To the digits that a fit's file keeps: what is written and read again is the same fit.
double to_digits(double value, int digits);
inline constexpr int kTimeDigits = 4, kCoefficientDigits = 6;

/// Natural logarithms of time (s) at base-2 logarithms of size, ascending in both.
struct LogCurve {
  static constexpr std::size_t kMostKnots = 21;
  std::vector<double> log2_size, log_time;

  bool empty() const { return log2_size.empty(); }
  bool covers(double at) const {
    constexpr double kSlack = 1e-6;
    return !empty() && at >= log2_size.front() - kSlack && at <= log2_size.back() + kSlack;
  }
  /// Linear between knots, flat outside.
  double at(double log2) const;
};

/// The nearest non-decreasing sequence: neighbours that fall are pooled to their mean.
void make_monotone(std::vector<double>& values);

/// Median per size, thinned to at most kMostKnots (many sizes: least absolute deviations of a
/// piecewise linear curve), made non-decreasing with the least change.
LogCurve fit_curve(std::vector<std::pair<double, double>> bytes_and_seconds);

/// a + b S + c sqrt(S), all >= 0: latency, bandwidth, and what pipelining in chunks leaves.
struct ThreeTerms {
  double latency = 0, per_byte = 0, per_root = 0;
  double at(double bytes) const;
};
/// Least relative deviations over the curve's knots.
ThreeTerms fit_three_terms(const LogCurve& curve);

struct MeasuredCurve {
  CollectiveCase what;
  std::string chip, source;
  LogCurve curve;
  ThreeTerms terms;
};
/// One per case, sorted by case.
std::vector<MeasuredCurve> fit_curves(std::span<const CollectiveSample> samples);

}  // namespace flopcast::network
