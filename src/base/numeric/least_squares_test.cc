#include "base/numeric/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flopcast {
namespace {

TEST(FitParameters, FindsTheParametersOfAFormula) {
  const auto formula = [](std::span<const double> p, double x) { return p[0] + p[1] * x; };
  const std::vector<double> truth = {3e-6, 2e-9};
  const Residuals residuals = [&](std::span<const double> p, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double x = std::exp2(static_cast<double>(i) / 4);
      const double noise = i == 5 ? 3.0 : 1.0;  // one row is three times too slow
      out[i] = std::log(formula(p, x) / (noise * formula(truth, x)));
    }
  };
  const std::vector<Parameter> parameters = {{1e-5, 1e-7, 1e-3}, {1e-7, 1e-12, 1e-3}};
  const ParameterFit fit = fit_parameters(parameters, 60, residuals, 0.05);
  EXPECT_NEAR(fit.values[0] / truth[0], 1, 0.03);
  EXPECT_NEAR(fit.values[1] / truth[1], 1, 0.03);
}

TEST(FitParameters, KeepsToItsBounds) {
  const Residuals residuals = [](std::span<const double> p, std::span<double> out) {
    for (double& r : out) r = std::log(p[0] / 100);
  };
  const std::vector<Parameter> parameters = {{1, 0.5, 2}};
  EXPECT_NEAR(fit_parameters(parameters, 10, residuals, 0.1).values[0], 2, 1e-9);
}

}  // namespace
}  // namespace flopcast
