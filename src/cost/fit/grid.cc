#include "cost/fit/grid.h"

namespace flopcast::cost {
namespace {

/// One penalty row: the square of a sum over up to three knots.
struct Difference {
  std::array<std::uint32_t, 3> index;
  std::array<double, 3> factor;
};

/// Knots nearer than this (powers of two) are told apart by data but not by smoothness: a pair
/// either side of a tile boundary may jump.
constexpr double kLeastGap = 0.2;

std::vector<Difference> differences(std::span<const Axis> axes, const GridPenalty& penalty) {
  std::vector<Difference> rows;
  std::size_t knots = 1;
  for (const Axis& axis : axes) knots *= axis.size();
  std::size_t stride = knots;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Axis& axis = axes[d];
    stride /= axis.size();
    const auto gap = [&axis](std::size_t j) {
      return std::max(kLeastGap, axis.log2_knot(j + 1) - axis.log2_knot(j));
    };
    const double slope = std::sqrt(penalty.slope[d]), bend = std::sqrt(penalty.bend[d]);
    for (std::size_t i = 0; i < knots; ++i) {
      const std::size_t j = i / stride % axis.size();
      if (j + 1 == axis.size()) continue;
      const auto here = static_cast<std::uint32_t>(i), step = static_cast<std::uint32_t>(stride);
      const double f = slope / std::sqrt(gap(j));
      rows.push_back({{here, here + step, here}, {-f, f, 0}});
      if (j + 2 == axis.size()) continue;
      const double h1 = gap(j), h2 = gap(j + 1), g = bend / std::sqrt(0.5 * (h1 + h2));
      rows.push_back(
          {{here, here + step, here + 2 * step}, {g / h1, -g * (1 / h1 + 1 / h2), g / h2}});
    }
  }
  return rows;
}

class NormalEquations {
 public:
  NormalEquations(const GridDesign& design, std::span<const Difference> penalty, std::size_t knots)
      : design_(design), penalty_(penalty), knots_(knots) {}

  void multiply(std::span<const double> weight, std::span<const double> x,
                std::span<double> out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t row = 0; row < weight.size(); ++row) {
      if (weight[row] == 0) continue;
      add_row(row, weight[row] * design_.at(row, x), out);
    }
    for (const Difference& p : penalty_) {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i) sum += p.factor[i] * x[p.index[i]];
      for (std::size_t i = 0; i < 3; ++i) out[p.index[i]] += p.factor[i] * sum;
    }
  }
  void add_row(std::size_t row, double value, std::span<double> out) const {
    const std::size_t n = design_.corners;
    // Plain pointers, here and in GridDesign::at: builds that do not inline spend most of a fit in operator[].
    const auto* index = design_.index.data() + row * n;
    const auto* weight = design_.weight.data() + row * n;
    double* const sums = out.data();
    for (std::size_t i = 0; i < n; ++i) sums[index[i]] += static_cast<double>(weight[i]) * value;
  }
  std::vector<double> diagonal(std::span<const double> weight) const {
    std::vector<double> d(knots_, 1e-9);
    for (std::size_t i = 0; i < design_.index.size(); ++i) {
      const double w = design_.weight[i];
      d[design_.index[i]] += weight[i / design_.corners] * w * w;
    }
    for (const Difference& p : penalty_) {
      for (std::size_t i = 0; i < 3; ++i) d[p.index[i]] += p.factor[i] * p.factor[i];
    }
    return d;
  }
  std::size_t knots() const { return knots_; }

 private:
  const GridDesign& design_;
  std::span<const Difference> penalty_;
  std::size_t knots_;
};

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Preconditioned conjugate gradients from x on.
void solve(const NormalEquations& equations, std::span<const double> weight,
           std::span<const double> right, std::span<double> x) {
  constexpr int kMostSteps = 300;
  constexpr double kTolerance = 1e-4;  // relative residual: well below 0.1 % of any knot
  const std::size_t n = equations.knots();
  const std::vector<double> diagonal = equations.diagonal(weight);
  std::vector<double> residual(n), z(n), p(n), q(n);
  equations.multiply(weight, x, q);
  for (std::size_t i = 0; i < n; ++i) {
    residual[i] = right[i] - q[i];
    p[i] = z[i] = residual[i] / diagonal[i];
  }
  const double stop = kTolerance * std::sqrt(dot(right, right)) + 1e-12;
  double rz = dot(residual, z);
  for (int step = 0; step < kMostSteps && dot(residual, residual) > stop * stop; ++step) {
    equations.multiply(weight, p, q);
    const double alpha = rz / dot(p, q);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      residual[i] -= alpha * q[i];
      z[i] = residual[i] / diagonal[i];
    }
    const double next = dot(residual, z);
    const double beta = next / rz;
    rz = next;
    for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
  }
}

}  // namespace

std::vector<double> fit_grid(std::span<const Axis> axes, const GridDesign& design,
                             std::span<const double> y, const GridPenalty& penalty,
                             std::vector<double> start, std::span<const std::uint8_t> used) {
  constexpr int kRounds = 3;
  const std::vector<Difference> rows = differences(axes, penalty);
  const NormalEquations equations(design, rows, start.size());
  std::vector<double> weight(design.rows()), right(start.size());
  for (int round = 0; round < kRounds; ++round) {
    std::fill(right.begin(), right.end(), 0.0);
    for (std::size_t row = 0; row < weight.size(); ++row) {
      const bool counts = used.empty() || used[row] != 0;
      const double r = (design.at(row, start) - y[row]) / penalty.robust_scale;
      weight[row] = !counts ? 0 : round == 0 ? 1 : 1 / std::sqrt(1 + r * r);
      equations.add_row(row, weight[row] * y[row], right);
    }
    solve(equations, weight, right, start);
  }
  return start;
}

std::vector<double> knot_support(const GridDesign& design, std::size_t knots) {
  std::vector<double> support(knots, 1e-3);
  for (std::size_t i = 0; i < design.index.size(); ++i) {
    support[design.index[i]] += static_cast<double>(design.weight[i]);
  }
  return support;
}

}  // namespace flopcast::cost
