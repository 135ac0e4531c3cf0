// Floor 2, private to the calibration: small dense linear algebra. Plain loops in a fixed order, so
// that results do not depend on a library.
#pragma once

#include <cstddef>
#include <vector>

namespace flopcast::network {

/// Symmetric, row major.
struct SquareMatrix {
  explicit SquareMatrix(std::size_t size) : n(size), values(size * size) {}
  double& at(std::size_t i, std::size_t j) { return values[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * n + j]; }
  std::size_t n;
  std::vector<double> values;
};

/// L with L L^T = matrix. What is not positive definite is made so by raising its pivots.
class Cholesky {
 public:
  explicit Cholesky(SquareMatrix matrix);
  std::vector<double> solve(std::vector<double> right) const;
  /// |L^-1 right|^2 = right^T matrix^-1 right.
  double quadratic(const std::vector<double>& right) const;

 private:
  void forward(std::vector<double>& x) const;
  SquareMatrix l_;
};

/// A linear regression, row by row: weighted normal equations.
class NormalEquations {
 public:
  explicit NormalEquations(std::size_t unknowns) : gram_(unknowns), right_(unknowns) {}
  void add(const std::vector<double>& row, double target, double weight);
  std::vector<double> solve() const;
  /// Least squares with all unknowns >= 0 (Lawson and Hanson 1974, chapter 23).
  std::vector<double> solve_non_negative() const;

 private:
  std::vector<double> solve_free(const std::vector<bool>& free) const;
  SquareMatrix gram_;
  std::vector<double> right_;
};

}  // namespace flopcast::network
