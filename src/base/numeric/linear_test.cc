#include "base/numeric/linear.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast {
namespace {

TEST(Linear, NonNegativeLeastSquaresLeavesOutWhatWouldGoNegative) {
  // y = 2a - b cannot be had with b >= 0: the best is a alone.
  NormalEquations equations(2);
  equations.add({1, 0.5}, 1.5, 1);
  equations.add({1, 1}, 1, 1);
  equations.add({1, 0}, 2, 1);
  const std::vector<double> free = equations.solve();
  EXPECT_NEAR(free[0], 2, 1e-12);
  EXPECT_NEAR(free[1], -1, 1e-12);
  const std::vector<double> bounded = equations.solve_non_negative();
  EXPECT_NEAR(bounded[0], 1.5, 1e-12);
  EXPECT_EQ(bounded[1], 0);
}

TEST(Linear, CholeskySolvesAndMeasures) {
  SquareMatrix matrix(2);
  matrix.at(0, 0) = 4;
  matrix.at(0, 1) = matrix.at(1, 0) = 2;
  matrix.at(1, 1) = 3;
  const Cholesky factor(matrix);
  const std::vector<double> x = factor.solve({8, 7});
  EXPECT_NEAR(x[0], 1.25, 1e-12);
  EXPECT_NEAR(x[1], 1.5, 1e-12);
  EXPECT_NEAR(factor.quadratic({8, 7}), 8 * 1.25 + 7 * 1.5, 1e-12);
}

TEST(Linear, WhatIsNotDefiniteIsToldOrRaised) {
  SquareMatrix matrix(2);
  matrix.at(0, 0) = matrix.at(0, 1) = matrix.at(1, 0) = matrix.at(1, 1) = 1;
  EXPECT_FALSE(Cholesky::of_definite(matrix));
  EXPECT_NEAR(Cholesky(matrix).solve({1, 1})[0], 1, 1e-3);
}

RC_GTEST_PROP(Linear, BothFactorsOfADefiniteMatrixAreTheSame, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 6);
  const auto entry = [] { return *rc::gen::inRange(-100, 100) / 8.0; };
  SquareMatrix root(n), matrix(n);
  for (double& value : root.values) value = entry();
  std::vector<double> right(n);
  for (double& value : right) value = entry();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) matrix.at(i, j) += root.at(i, k) * root.at(j, k);
    }
    matrix.at(i, i) += 10;
  }
  const std::optional<Cholesky> definite = Cholesky::of_definite(matrix);
  RC_ASSERT(definite.has_value());
  const std::vector<double> x = definite->solve(right);
  RC_ASSERT(x == Cholesky(matrix).solve(right));
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += matrix.at(i, j) * x[j];
    RC_ASSERT(std::abs(sum - right[i]) < 1e-6);
  }
}

}  // namespace
}  // namespace flopcast
