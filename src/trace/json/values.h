// What single JSON values mean: numbers of every spelling found in traces, and strings with
// escapes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
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

/// Eight digits at once, as Daniel Lemire describes it. @return whether there are eight
FLOPCAST_INLINE bool eight_digits(const char* p, std::uint64_t& out) {
  if constexpr (std::endian::native != std::endian::little) return false;
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  constexpr std::uint64_t kHigh = 0xf0f0f0f0f0f0f0f0U;
  const std::uint64_t carried = (word + 0x0606060606060606U) & kHigh;
  if (((word & kHigh) | (carried >> 4)) != 0x3333333333333333U) return false;
  word = (word & 0x0f0f0f0f0f0f0f0fU) * 2561 >> 8;
  word = (word & 0x00ff00ff00ff00ffU) * 6553601 >> 16;
  out = (word & 0x0000ffff0000ffffU) * 42949672960001U >> 32;
  return true;
}

/// The digits at p, at most 19 for `value` to be right. @return the first byte that is none
FLOPCAST_INLINE const char* pass_digits(const char* p, const char* end, std::uint64_t& value) {
  value = 0;
  for (std::uint64_t eight = 0; end - p >= 8 && eight_digits(p, eight); p += 8) {
    value = value * 100000000 + eight;
  }
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    value = value * 10 + static_cast<std::uint64_t>(*p - '0');
  }
  return p;
}

/// Nothing but digits, 1 to 18 of them: what most whole numbers are.
FLOPCAST_INLINE bool plain_integer(std::string_view text, std::int64_t& out) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text.size() > 18 || pass_digits(text.data(), end, value) != end) return false;
  out = static_cast<std::int64_t>(value);
  return true;
}

/// A whole number, also inside quotes, in hexadecimal ("0x0"), or with a fraction of zeros ("7.0").
/// From 2^63 to 2^64 - 1 it wraps to the negative number of the same bits: that is how -1 is
/// written by profilers that print unsigned.
Number parse_any_integer(const JsonSlice& value, std::int64_t& out);
FLOPCAST_INLINE Number parse_integer(const JsonSlice& value, std::int64_t& out) {
  const bool plain =
      value.kind == JsonSlice::Kind::kScalar && plain_integer({value.data, value.size}, out);
  return plain ? Number::kGood : parse_any_integer(value, out);
}

/// A number for which rounding does not matter.
Number parse_real(const JsonSlice& value, double& out);

/// Text of a JSON string without its escapes (of other values: as written), as valid UTF-8: a lone
/// surrogate becomes U+FFFD, a byte that is not UTF-8 '?', a control character written raw a blank.
/// @return whether something had to be replaced.
bool clean_text(const JsonSlice& value, std::string& out);

}  // namespace flopcast::trace
