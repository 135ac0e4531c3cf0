// Fits the few parameters of a base formula: damped Gauss-Newton (Levenberg-Marquardt) on the
// logarithms of positive parameters within bounds, robust through weights, Jacobian by differences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace flopcast::cost {

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

/// At most `most` of `rows` indices, spread by a fixed hash, in growing order.
std::vector<std::size_t> sample_rows(std::size_t rows, std::size_t most);

/// A fixed pseudo-random number of `x` (splitmix64): the only randomness of this room.
std::uint64_t mix(std::uint64_t x);

}  // namespace flopcast::cost
