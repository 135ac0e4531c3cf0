// Fits the few parameters of a base formula: damped Gauss-Newton (Levenberg-Marquardt) on the
// logarithms of positive parameters within bounds, robust through weights, Jacobian by differences.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace flopcast {

struct Parameter {
  double start = 1, low = 0, high = 0;  ///< all positive
};
struct ParameterFit {
  std::vector<double> values;
  double cost = 0;  ///< mean robust loss; comparable between starts
};
/// residuals(parameters, out): one log residual per row. @param scale residuals beyond it count less.
using Residuals = std::function<void(std::span<const double>, std::span<double>)>;
ParameterFit fit_parameters(std::span<const Parameter> parameters, std::size_t rows,
                            const Residuals& residuals, double scale);

}  // namespace flopcast
