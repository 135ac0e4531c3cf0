// Whole numbers of any double: the ends of a type hold what is beyond them, where a cast would do anything.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace flopcast {

/// The nearest whole number; the largest or smallest there is for what lies beyond, 0 for what is no number.
inline std::int64_t rounded_whole(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kEnd) return std::numeric_limits<std::int64_t>::max();
  if (value < -kEnd) return std::numeric_limits<std::int64_t>::min();
  return std::llround(value);
}

}  // namespace flopcast
