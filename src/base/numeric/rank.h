// Which of many measurements is a percentile.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flopcast {

/// Index, from 0, of the percentile by nearest rank among `count` in rising order: the least that at least
/// `percent` of a hundred do not exceed. @pre count > 0
inline std::int64_t nearest_rank(std::int64_t count, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(count));
  return std::clamp(static_cast<std::int64_t>(rank), std::int64_t{1}, count) - 1;
}

}  // namespace flopcast
