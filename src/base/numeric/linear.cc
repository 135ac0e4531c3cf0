#include "base/numeric/linear.h"

#include <algorithm>
#include <cmath>

namespace flopcast {

Cholesky::Cholesky(SquareMatrix matrix) : l_(std::move(matrix)) {
  constexpr double kSmallestPivot = 1e-12;
  double largest = 0;
  for (std::size_t i = 0; i < l_.n; ++i) largest = std::max(largest, l_.at(i, i));
  factor(kSmallestPivot * std::max(largest, 1e-300));
}

std::optional<Cholesky> Cholesky::of_definite(SquareMatrix matrix) {
  Cholesky factor(std::move(matrix), Unfactored{});
  return factor.factor(0) ? std::optional(std::move(factor)) : std::nullopt;
}

bool Cholesky::factor(double smallest) {
  for (std::size_t j = 0; j < l_.n; ++j) {
    double pivot = l_.at(j, j);
    for (std::size_t k = 0; k < j; ++k) pivot -= l_.at(j, k) * l_.at(j, k);
    if (smallest == 0 && !(pivot > 0)) return false;
    const double root = std::sqrt(std::max(pivot, smallest));
    l_.at(j, j) = root;
    for (std::size_t i = j + 1; i < l_.n; ++i) {
      double sum = l_.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l_.at(i, k) * l_.at(j, k);
      l_.at(i, j) = sum / root;
    }
  }
  return true;
}

void Cholesky::forward(std::vector<double>& x) const {
  for (std::size_t i = 0; i < l_.n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l_.at(i, k) * x[k];
    x[i] /= l_.at(i, i);
  }
}

std::vector<double> Cholesky::solve(std::vector<double> right) const {
  forward(right);
  for (std::size_t i = l_.n; i-- > 0;) {
    for (std::size_t k = i + 1; k < l_.n; ++k) right[i] -= l_.at(k, i) * right[k];
    right[i] /= l_.at(i, i);
  }
  return right;
}

double Cholesky::quadratic(const std::vector<double>& right) const {
  std::vector<double> x = right;
  forward(x);
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

void NormalEquations::add(const std::vector<double>& row, double target, double weight) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = 0; j < row.size(); ++j) gram_.at(i, j) += weight * row[i] * row[j];
    right_[i] += weight * row[i] * target;
  }
}

std::vector<double> NormalEquations::solve_free(const std::vector<bool>& free) const {
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i] && gram_.at(i, i) > 0) index.push_back(i);
  }
  SquareMatrix scaled(index.size());  // to a unit diagonal: columns differ by many orders
  std::vector<double> right(index.size()), scale(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) scale[i] = std::sqrt(gram_.at(index[i], index[i]));
  for (std::size_t i = 0; i < index.size(); ++i) {
    for (std::size_t j = 0; j < index.size(); ++j) {
      scaled.at(i, j) = gram_.at(index[i], index[j]) / (scale[i] * scale[j]);
    }
    right[i] = right_[index[i]] / scale[i];
  }
  const std::vector<double> part = Cholesky(std::move(scaled)).solve(std::move(right));
  std::vector<double> x(free.size());
  for (std::size_t i = 0; i < index.size(); ++i) x[index[i]] = part[i] / scale[i];
  return x;
}

std::vector<double> NormalEquations::solve() const {
  return solve_free(std::vector<bool>(right_.size(), true));
}

std::vector<double> NormalEquations::solve_non_negative() const {
  const std::size_t n = right_.size();
  std::vector<bool> free(n, false);
  std::vector<double> x(n);
  // Each outer turn frees the unknown with the steepest descent; inner turns take out those that
  // would go negative. The bound is far above what n unknowns need.
  for (std::size_t turn = 0; turn < 10 * n; ++turn) {
    std::size_t best = n;
    double steepest = 1e-10;
    for (std::size_t i = 0; i < n; ++i) {
      if (free[i] || gram_.at(i, i) <= 0) continue;
      double slope = right_[i];
      for (std::size_t j = 0; j < n; ++j) slope -= gram_.at(i, j) * x[j];
      slope /= std::sqrt(gram_.at(i, i));
      if (slope > steepest) steepest = slope, best = i;
    }
    if (best == n) break;
    free[best] = true;
    for (std::size_t inner = 0; inner <= n; ++inner) {
      const std::vector<double> z = solve_free(free);
      double step = 1;
      for (std::size_t i = 0; i < n; ++i) {
        if (free[i] && z[i] <= 0) step = std::min(step, x[i] / (x[i] - z[i]));
      }
      if (!(step < 1)) step = 1;
      bool clipped = false;
      for (std::size_t i = 0; i < n; ++i) {
        x[i] += step * (z[i] - x[i]);
        if (free[i] && z[i] <= 0 && x[i] <= 1e-14 * std::fabs(z[i])) {
          x[i] = 0;
          free[i] = false;
          clipped = true;
        }
      }
      if (!clipped) break;
    }
  }
  return x;
}

}  // namespace flopcast
