// Times of traces as text to integers: seconds since 1970 in decimals, days and hours of a day.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/numeric/clock.h"

namespace flopcast::serving {

/// Of picoseconds, since any origin: seconds since 1970 are more than a Time holds.
using flopcast::WidePs;

/// A decimal number of units, as JSON writes it ("1787267980.0827403", "1.5e3", "-2"), times `unit` ps. Exact: what
/// lies below a picosecond is rounded half away from zero. Nothing: no number, or beyond +-10^12 s.
std::optional<WidePs> decimal_ps(std::string_view text, std::int64_t unit);
/// "2023-11-16 18:15:46.6805900" since 1970; any number of decimals, 'T' for the blank, "Z" or "+01:00" behind it.
/// Nothing: no such time.
std::optional<WidePs> calendar_ps(std::string_view text);

}  // namespace flopcast::serving
