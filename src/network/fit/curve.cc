#include "network/fit/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>

#include "base/numeric/linear.h"

namespace flopcast::network {
namespace {

using Points = std::vector<std::pair<double, double>>;  // log2 size, log time; sizes ascending

double median(std::vector<double>& values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Points medians(const Points& samples) {
  std::map<double, std::vector<double>> by_size;
  for (const auto& [bytes, seconds] : samples) {
    by_size[std::log2(bytes)].push_back(std::log(seconds));
  }
  Points points;
  for (auto& [size, times] : by_size) points.emplace_back(size, median(times));
  return points;
}

/// How far a point lies off the line between its neighbours.
double deviation(const Points& points, std::size_t i) {
  const auto& [x0, y0] = points[i - 1];
  const auto& [x1, y1] = points[i];
  const auto& [x2, y2] = points[i + 1];
  return std::fabs(y0 + (y2 - y0) * (x1 - x0) / (x2 - x0) - y1);
}

void thin(Points& points) {
  while (points.size() > LogCurve::kMostKnots) {
    std::size_t least = 1;
    for (std::size_t i = 2; i + 1 < points.size(); ++i) {
      if (deviation(points, i) < deviation(points, least)) least = i;
    }
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

/// About equally far apart in log size, each a size that was measured.
std::vector<double> choose_knots(const Points& points) {
  constexpr std::size_t kKnots = LogCurve::kMostKnots;
  const double low = points.front().first;
  const double pitch = (points.back().first - low) / (kKnots - 1);
  std::vector<double> knots;
  for (std::size_t k = 0; k < kKnots; ++k) {
    const double wanted = low + pitch * static_cast<double>(k);
    auto near = std::ranges::lower_bound(points, wanted, {}, &Points::value_type::first);
    if (near == points.end()) --near;
    const bool before =
        near != points.begin() && wanted - std::prev(near)->first < near->first - wanted;
    if (before) --near;
    if (knots.empty() || near->first > knots.back()) knots.push_back(near->first);
  }
  return knots;
}

/// A point's weight on the knots left and right of it.
std::vector<double> hat_weights(const std::vector<double>& knots, double x) {
  std::vector<double> row(knots.size());
  const auto above = std::ranges::upper_bound(knots, x);
  const auto right = std::clamp<std::ptrdiff_t>(above - knots.begin(), 1,
                                                static_cast<std::ptrdiff_t>(knots.size()) - 1);
  const auto r = static_cast<std::size_t>(right);
  row[r] = (x - knots[r - 1]) / (knots[r] - knots[r - 1]);
  row[r - 1] = 1 - row[r];
  return row;
}

/// Reweighted least squares, near enough to least absolute deviations for outliers not to matter.
Points regress(const Points& points) {
  constexpr int kTurns = 10;
  constexpr double kExact = 0.01;  // deviations below count alike
  const std::vector<double> knots = choose_knots(points);
  std::vector<double> weight(points.size(), 1), y;
  for (int turn = 0; turn < kTurns; ++turn) {
    NormalEquations equations(knots.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      equations.add(hat_weights(knots, points[i].first), points[i].second, weight[i]);
    }
    y = equations.solve();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::vector<double> row = hat_weights(knots, points[i].first);
      double off = points[i].second;
      for (std::size_t k = 0; k < knots.size(); ++k) off -= row[k] * y[k];
      weight[i] = 1 / std::max(std::fabs(off), kExact);
    }
  }
  Points fitted;
  for (std::size_t k = 0; k < knots.size(); ++k) fitted.emplace_back(knots[k], y[k]);
  return fitted;
}

}  // namespace

double to_digits(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

double LogCurve::at(double log2) const {
  const auto above = std::ranges::upper_bound(log2_size, log2);
  if (above == log2_size.begin()) return log_time.front();
  if (above == log2_size.end()) return log_time.back();
  const auto i = static_cast<std::size_t>(above - log2_size.begin());
  const double x0 = log2_size[i - 1], x1 = log2_size[i];
  return log_time[i - 1] + (log_time[i] - log_time[i - 1]) * (log2 - x0) / (x1 - x0);
}

void make_monotone(std::vector<double>& values) {
  std::vector<std::pair<double, std::size_t>> blocks;  // mean, length
  for (const double value : values) {
    blocks.emplace_back(value, 1);
    while (blocks.size() > 1 && blocks[blocks.size() - 2].first > blocks.back().first) {
      const auto [mean, length] = blocks.back();
      blocks.pop_back();
      auto& [into, total] = blocks.back();
      const auto a = static_cast<double>(total), b = static_cast<double>(length);
      into = (into * a + mean * b) / (a + b);
      total += length;
    }
  }
  std::size_t i = 0;
  for (const auto& [mean, length] : blocks) {
    for (std::size_t k = 0; k < length; ++k) values[i++] = mean;
  }
}

LogCurve fit_curve(std::vector<std::pair<double, double>> bytes_and_seconds) {
  constexpr std::size_t kManySizes = 40;
  Points points = medians(bytes_and_seconds);
  if (points.size() > kManySizes) points = regress(points);
  thin(points);
  LogCurve curve;
  for (const auto& [size, time] : points) {
    curve.log2_size.push_back(to_digits(size, kCoefficientDigits));
    curve.log_time.push_back(time);
  }
  make_monotone(curve.log_time);
  for (double& time : curve.log_time) {
    time = std::log(to_digits(std::exp(time) * 1e6, kTimeDigits) * 1e-6);
  }
  return curve;
}

double ThreeTerms::at(double bytes) const {
  return latency + per_byte * bytes + per_root * std::sqrt(bytes);
}

ThreeTerms fit_three_terms(const LogCurve& curve) {
  constexpr int kTurns = 6;
  constexpr double kExact = 0.03;
  ThreeTerms terms;
  std::vector<double> weight(curve.log_time.size(), 1);
  for (int turn = 0; turn < kTurns; ++turn) {
    NormalEquations equations(3);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double bytes = std::exp2(curve.log2_size[i]), time = std::exp(curve.log_time[i]);
      equations.add({1 / time, bytes / time, std::sqrt(bytes) / time}, 1, weight[i]);
    }
    const std::vector<double> x = equations.solve_non_negative();
    terms = {x[0], x[1], x[2]};
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double ratio = terms.at(std::exp2(curve.log2_size[i])) / std::exp(curve.log_time[i]);
      weight[i] = 1 / std::max(std::fabs(ratio - 1), kExact);
    }
  }
  for (double* term : {&terms.latency, &terms.per_byte, &terms.per_root}) {
    *term = to_digits(*term, kCoefficientDigits);
  }
  return terms;
}

std::vector<MeasuredCurve> fit_curves(std::span<const CollectiveSample> samples) {
  struct Group {
    Points points;
    std::string chip, source;
  };
  std::map<CollectiveCase, Group> groups;
  for (const CollectiveSample& sample : samples) {
    Group& group = groups[sample.what];
    group.points.emplace_back(sample.size.value, sample.time.value);
    // The least of several, so that the order of rows does not matter.
    if (group.source.empty() || sample.source < group.source) group.source = sample.source;
    if (group.chip.empty() || sample.chip < group.chip) group.chip = sample.chip;
  }
  std::vector<MeasuredCurve> curves;
  for (auto& [what, group] : groups) {
    MeasuredCurve& curve =
        curves.emplace_back(MeasuredCurve{what, group.chip, group.source, {}, {}});
    curve.curve = fit_curve(std::move(group.points));
    curve.terms = fit_three_terms(curve.curve);
  }
  return curves;
}

}  // namespace flopcast::network
