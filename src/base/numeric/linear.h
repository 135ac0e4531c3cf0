// Small dense linear algebra. Plain loops in a fixed order, so
// that results do not depend on a library.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace flopcast {

/// Symmetric, row major.
struct SquareMatrix {
  explicit SquareMatrix(std::size_t size) : n(size), values(size * size) {}
  double& at(std::size_t i, std::size_t j) { return values[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * n + j]; }
  std::size_t n;
  std::vector<double> values;
};

/// L with L L^T = matrix, of which the lower half is read.
class Cholesky {
 public:
  /// What is not positive definite is made so by raising its pivots.
  explicit Cholesky(SquareMatrix matrix);
  /// Nothing where `matrix` is not positive definite.
  static std::optional<Cholesky> of_definite(SquareMatrix matrix);
  std::vector<double> solve(std::vector<double> right) const;
  /// |L^-1 right|^2 = right^T matrix^-1 right.
  double quadratic(const std::vector<double>& right) const;

 private:
  struct Unfactored {};
  Cholesky(SquareMatrix matrix, Unfactored) : l_(std::move(matrix)) {}
  /// @param smallest pivots below it are raised to it; 0: they are not, but end the work.
  /// @return whether it was done
  bool factor(double smallest);
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

}  // namespace flopcast
