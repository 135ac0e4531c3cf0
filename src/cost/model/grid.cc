#include "cost/model/grid.h"

#include <numeric>

#include "base/numeric/isotonic.h"

namespace flopcast::cost {
namespace {

constexpr double kBuckets = 256;

/// Calls visit(first, stride, length) for every line of the grid along axis `d`.
template <typename Visit>
void for_each_line(std::span<const std::size_t> shape, std::size_t d, Visit&& visit) {
  std::size_t stride = 1;
  for (std::size_t e = d + 1; e < shape.size(); ++e) stride *= shape[e];
  std::size_t total = stride;
  for (std::size_t e = 0; e <= d; ++e) total *= shape[e];
  const std::size_t block = stride * shape[d];
  for (std::size_t outer = 0; outer < total; outer += block) {
    for (std::size_t inner = 0; inner < stride; ++inner) visit(outer + inner, stride, shape[d]);
  }
}

/// Dykstra's alternating projections on the cones of one axis each.
void project(std::span<const std::size_t> shape, std::span<const bool> axes,
             std::span<const double> support, std::span<double> values) {
  constexpr int kSweeps = 24;
  std::vector<std::vector<double>> corrections(shape.size());
  std::vector<double> before(values.size());
  IsotonicRegression isotonic;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!axes[d]) continue;
      std::vector<double>& correction = corrections[d];
      correction.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) before[i] = values[i] += correction[i];
      for_each_line(shape, d, [&](std::size_t first, std::size_t stride, std::size_t length) {
        isotonic.fit(values, support, first, stride, length);
      });
      for (std::size_t i = 0; i < values.size(); ++i) correction[i] = before[i] - values[i];
    }
  }
}

bool is_monotone(std::span<const std::size_t> shape, std::span<const bool> axes,
                 std::span<const double> values) {
  bool rising = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!axes[d]) continue;
    for_each_line(shape, d, [&](std::size_t first, std::size_t stride, std::size_t length) {
      for (std::size_t i = 1; i < length; ++i) {
        rising &= values[first + i * stride] >= values[first + (i - 1) * stride];
      }
    });
  }
  return rising;
}

}  // namespace

Axis::Axis(std::vector<double> knots) : knots_(std::move(knots)) {
  for (const double knot : knots_) log2_.push_back(std::log2(knot));
  for (std::size_t i = 0; i + 1 < log2_.size(); ++i) {
    inverse_gap_.push_back(1 / (log2_[i + 1] - log2_[i]));
  }
  const double range = log2_.back() - log2_.front();
  buckets_per_unit_ = kBuckets / range;
  std::size_t knot = 0;
  for (std::size_t b = 0; b <= static_cast<std::size_t>(kBuckets); ++b) {
    const double beginning = log2_.front() + static_cast<double>(b) / buckets_per_unit_;
    while (knot + 2 < log2_.size() && log2_[knot + 1] <= beginning) ++knot;
    // One step back: rounding must not place a point before the knot it starts from.
    start_.push_back(static_cast<std::uint16_t>(knot == 0 ? 0 : knot - 1));
  }
}

void make_monotone(std::span<const std::size_t> shape, std::span<const bool> axes,
                   std::span<const double> support, std::span<double> values) {
  if (is_monotone(shape, axes, values)) return;
  project(shape, axes, support, values);
  // What the sweeps left: half-way between the least majorant and the greatest minorant, both of
  // which do not fall, so neither does their mean.
  std::vector<double> above(values.begin(), values.end()), below(above);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!axes[d]) continue;
    for_each_line(shape, d, [&](std::size_t first, std::size_t stride, std::size_t length) {
      for (std::size_t i = 1; i < length; ++i) {
        const std::size_t up = first + i * stride, down = first + (length - 1 - i) * stride;
        above[up] = std::max(above[up], above[up - stride]);
        below[down] = std::min(below[down], below[down + stride]);
      }
    });
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5 * (above[i] + below[i]);
}

}  // namespace flopcast::cost
