// Seconds on the clock, the one place where they become picoseconds. A Time holds 106 days; a forecast that is longer
// has no Time, and neither has the sum of two that fill it: both are Time::max() here ("never"), which whoever gives an
// answer refuses by beyond_clock(). Nothing wraps round.
#pragma once

#include <cmath>
#include <string_view>

#include "base/numeric/rounded.h"
#include "flopcast/base.h"

namespace flopcast {

/// The longest time that is answered with: half of what a Time holds, so that two can be added. 53 days.
inline constexpr Time kLongestTime{(std::int64_t{1} << 62) - 1};

/// Picoseconds as a Time, the nearest; Time::max() or Time::min() where there is none, and max() for what is no number.
inline Time rounded_ps(double ps) { return std::isnan(ps) ? Time::max() : Time{rounded_whole(ps)}; }

/// The nearest Time, as rounded_ps() has it.
inline Time on_clock(Seconds seconds) {
  constexpr double kPs = 1e12;
  return rounded_ps(seconds.value * kPs);
}

/// a + b; Time::max() or Time::min() where that is beyond the clock.
constexpr Time sum_on_clock(Time a, Time b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.ps, b.ps, &sum)) return {sum};
  return b.ps > 0 ? Time::max() : Time::min();
}

/// Sums of times of many: of ranks, of replicas, which may all be busy for long.
__extension__ typedef __int128 WidePs;

/// Whether an answer may be this.
constexpr bool fits_clock(Time time) { return time <= kLongestTime && time >= -kLongestTime; }
inline bool fits_clock(Seconds seconds) { return fits_clock(on_clock(seconds)); }

/// "a step takes 3.4e+09 s: longer than 53 days", what an answer that does not fit is refused with. kNoAnswer.
/// @param what with its time where that is known: "a step takes 3.4e+09 s"
Diagnostic beyond_clock(std::string_view where, std::string_view what, std::string_view hint);

}  // namespace flopcast
