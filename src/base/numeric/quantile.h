// Quantiles of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace flopcast {

/// Linear between order statistics. @pre `sorted` ascends, 0 <= q <= 1. @return 0 where there are none
inline double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace flopcast
