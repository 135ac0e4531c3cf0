// Fits the numbers on a grid's knots to scattered values: penalised least squares,
//
//   sum_i w_i (grid(x_i) - y_i)^2 + sum_axes slope_d |first differences|^2 + bend_d |second|^2,
//
// both differences per unit of log2 distance, robust through weights that fall with the residual
// (Cauchy-like, a few rounds). Where no value is near, the slope term keeps the grid constant: it
// adds nothing to what the base formula extrapolates. Solved by conjugate gradients with a diagonal
// preconditioner, always from the same start: same input, same bytes.
#pragma once

#include "cost/model/grid.h"

namespace flopcast::cost {

struct GridPenalty {
  std::vector<double> slope, bend;  ///< per axis
  double robust_scale = 0.08;       ///< residuals beyond this count less
};

/// Rows of the design matrix, 2^D entries each.
struct GridDesign {
  std::size_t corners = 0;
  std::vector<std::uint32_t> index;
  std::vector<float> weight;
  std::size_t rows() const { return corners == 0 ? 0 : index.size() / corners; }
  double at(std::size_t row, std::span<const double> values) const {
    double sum = 0;
    const std::uint32_t* const knot = index.data() + row * corners;
    const float* const share = weight.data() + row * corners;
    const double* const value = values.data();
    for (std::size_t i = 0; i < corners; ++i) sum += static_cast<double>(share[i]) * value[knot[i]];
    return sum;
  }
};

template <std::size_t D>
GridDesign make_design(const std::array<Axis, D>& axes,
                       std::span<const std::array<double, D>> points) {
  GridDesign design;
  design.corners = 1U << D;
  design.index.reserve(points.size() * design.corners);
  design.weight.reserve(points.size() * design.corners);
  for (const auto& point : points) {
    const Corners<D> c = Grid<D>::corners(axes, point);
    design.index.insert(design.index.end(), c.index.begin(), c.index.end());
    design.weight.insert(design.weight.end(), c.weight.begin(), c.weight.end());
  }
  return design;
}

/// @param y one value per row of the design. @param start values to start from, one per knot.
/// @param used rows with 0 are left out; empty: all rows count.
std::vector<double> fit_grid(std::span<const Axis> axes, const GridDesign& design,
                             std::span<const double> y, const GridPenalty& penalty,
                             std::vector<double> start, std::span<const std::uint8_t> used = {});

/// How much data each knot rests on.
std::vector<double> knot_support(const GridDesign& design, std::size_t knots);

}  // namespace flopcast::cost
