// Prices by number of tokens: exact up to 64, then eight knots an octave with integer interpolation between, so that
// a price is the same integer however it is asked for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/numeric/clock.h"

namespace flopcast::serving {

/// The most that a price may be, 20 hours, and that a sum of what a batch takes counts as; the whole iteration of more
/// is refused (IterationModel::make), or ends a run (FleetSimulation).
inline constexpr std::int64_t kMostPrice = std::int64_t{1} << 56;
constexpr std::int64_t at_most(WidePs ps) {
  return static_cast<std::int64_t>(ps < kMostPrice ? ps : WidePs{kMostPrice});
}

class TokenGrid {
 public:
  static constexpr std::int64_t kExact = 64;
  static constexpr std::int64_t kMost = std::int64_t{1} << 24;

  /// Knots that prices of 0 .. most tokens need.
  static std::size_t knots(std::int64_t most) { return place(most).index + 2; }
  /// Tokens of a knot.
  static std::int64_t tokens(std::size_t knot) {
    if (knot < kExact) return static_cast<std::int64_t>(knot);
    const std::size_t octave = (knot - kExact) / 8, eighth = (knot - kExact) % 8;
    return static_cast<std::int64_t>(8 + eighth) << (octave + 3);
  }
  /// @param values at the knots; beyond the last two, their line goes on.
  static std::int64_t at(const std::vector<std::int64_t>& values, std::int64_t n) {
    if (values.empty()) return 0;
    const Place p = place(n);
    if (p.index + 1 >= values.size()) return beyond(values, n);
    const std::int64_t low = values[p.index], high = values[p.index + 1];
    return low + static_cast<std::int64_t>((static_cast<WidePs>(high - low) * p.over) >> p.shift);
  }

 private:
  struct Place {
    std::size_t index = 0;
    std::int64_t over = 0;  ///< tokens above the knot
    int shift = 0;          ///< log2 of the tokens to the next
  };
  static Place place(std::int64_t n) {
    if (n <= 0) return {};
    if (n < kExact) return {static_cast<std::size_t>(n), 0, 0};
    const int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 4;
    const auto eighth = static_cast<std::size_t>(n >> shift) & 7U;
    const auto octave = static_cast<std::size_t>(shift - 3);
    return {kExact + octave * 8 + eighth, n & ((std::int64_t{1} << shift) - 1), shift};
  }
  static std::int64_t beyond(const std::vector<std::int64_t>& values, std::int64_t n) {
    const std::size_t last = values.size() - 1;
    if (last == 0) return values[0];
    const std::int64_t step = tokens(last) - tokens(last - 1);
    const std::int64_t rise = values[last] - values[last - 1];
    const WidePs more = n - tokens(last);
    return at_most(values[last] + more / step * rise + more % step * rise / step);
  }
};

}  // namespace flopcast::serving
