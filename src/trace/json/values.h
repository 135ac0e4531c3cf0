// What single JSON values mean: numbers of every spelling found in traces, and strings with
// escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/json/cursor.h"

namespace flopcast::trace {

enum class Number : std::uint8_t {
  kGood,
  kBad,   ///< no number: a word, NaN, Infinity, null, an object
  kHuge,  ///< a number, but outside int64
};

/// Microseconds in decimal text ("6322354305173.787", "1.7e15", also inside quotes) to nanoseconds.
/// Exact: never through double. What lies below a nanosecond is rounded, half away from zero.
Number parse_us_as_ns(const JsonSlice& value, std::int64_t& ns);

/// A whole number, also inside quotes, in hexadecimal ("0x0"), or with a fraction of zeros ("7.0").
/// From 2^63 to 2^64 - 1 it wraps to the negative number of the same bits: that is how -1 is
/// written by profilers that print unsigned.
Number parse_integer(const JsonSlice& value, std::int64_t& out);

/// A number for which rounding does not matter.
Number parse_real(const JsonSlice& value, double& out);

/// Text of a JSON string without its escapes (of other values: as written), as valid UTF-8: a lone
/// surrogate becomes U+FFFD, a byte that is not UTF-8 '?', a control character written raw a blank.
/// @return whether something had to be replaced.
bool clean_text(const JsonSlice& value, std::string& out);

}  // namespace flopcast::trace
