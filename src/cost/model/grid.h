// Numbers on the knots of a rectangular grid, linear in between. Coordinates are base-2 logarithms;
// outside the knots the grid is constant along that axis.
//
// Multilinear interpolation keeps order: where the numbers do not fall along an axis from knot to
// knot, the interpolated function does not fall along it anywhere (it is a convex combination, along
// that axis, of slopes between neighbouring knots). Everything in this room that claims to be
// monotone rests on this.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flopcast::cost {

/// The knots of one dimension, at least two, growing.
class Axis {
 public:
  Axis() = default;
  explicit Axis(std::vector<double> knots);

  struct Place {
    std::size_t index = 0;  ///< of the knot at or below
    double fraction = 0;    ///< 0 .. 1 of the way to the next knot
  };
  Place find(double log2_x) const {
    const double x = std::clamp(log2_x, log2_.front(), log2_.back());
    std::size_t i = start_[static_cast<std::size_t>((x - log2_.front()) * buckets_per_unit_)];
    while (i + 2 < log2_.size() && x >= log2_[i + 1]) ++i;
    return {i, (x - log2_[i]) * inverse_gap_[i]};
  }
  std::size_t size() const { return knots_.size(); }
  double knot(std::size_t i) const { return knots_[i]; }
  double log2_knot(std::size_t i) const { return log2_[i]; }
  std::span<const double> knots() const { return knots_; }

 private:
  std::vector<double> knots_, log2_, inverse_gap_;
  std::vector<std::uint16_t> start_;  // per bucket: the last knot at or below its beginning
  double buckets_per_unit_ = 0;
};

/// The 2^D knots around a point and their weights, which sum to 1.
template <std::size_t D>
struct Corners {
  std::array<std::uint32_t, (1U << D)> index;
  std::array<double, (1U << D)> weight;
};

template <std::size_t D>
class Grid {
 public:
  using Axes = std::array<Axis, D>;
  using Point = std::array<double, D>;  ///< base-2 logarithms

  Grid() = default;
  explicit Grid(Axes axes) : axes_(std::move(axes)), values_(count(axes_), 0.0F) {}

  static std::size_t count(const Axes& axes) {
    std::size_t n = 1;
    for (const Axis& axis : axes) n *= axis.size();
    return n;
  }
  const Axes& axes() const { return axes_; }
  std::vector<float>& values() { return values_; }
  const std::vector<float>& values() const { return values_; }
  bool empty() const { return values_.empty(); }

  static Corners<D> corners(const Axes& axes, const Point& point) {
    Corners<D> c;
    c.index[0] = 0;
    c.weight[0] = 1;
    std::size_t filled = 1;
    for (std::size_t d = 0; d < D; ++d, filled *= 2) {
      const Axis::Place place = axes[d].find(point[d]);
      for (std::size_t i = 0; i < filled; ++i) {
        const std::size_t below = c.index[i] * axes[d].size() + place.index;
        c.index[i] = static_cast<std::uint32_t>(below);
        c.index[i + filled] = static_cast<std::uint32_t>(below + 1);
        c.weight[i + filled] = c.weight[i] * place.fraction;
        c.weight[i] *= 1 - place.fraction;
      }
    }
    return c;
  }
  double at(const Point& point) const {
    const Corners<D> c = corners(axes_, point);
    double sum = 0;
    for (std::size_t i = 0; i < c.index.size(); ++i) sum += c.weight[i] * values_[c.index[i]];
    return sum;
  }
  /// Natural coordinates of knot `i`.
  Point knot(std::size_t i) const {
    Point x;
    for (std::size_t d = D; d-- > 0; i /= axes_[d].size())
      x[d] = axes_[d].knot(i % axes_[d].size());
    return x;
  }

 private:
  Axes axes_;
  std::vector<float> values_;
};

/// The nearest numbers (roughly least squares, then exactly) that do not fall along the marked axes.
/// @param shape knots per axis, the last one varying fastest. @param support weight of each number.
void make_monotone(std::span<const std::size_t> shape, std::span<const bool> axes,
                   std::span<const double> support, std::span<double> values);

template <std::size_t D>
std::array<std::size_t, D> shape_of(const std::array<Axis, D>& axes) {
  std::array<std::size_t, D> shape;
  for (std::size_t d = 0; d < D; ++d) shape[d] = axes[d].size();
  return shape;
}

}  // namespace flopcast::cost
