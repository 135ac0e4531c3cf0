#include "trace/json/values.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>  // not base/text/numbers.h: hot, hexadecimal, and tells too large from no number
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/text/utf8.h"

namespace flopcast::trace {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text of a number: strings count without their quotes and blanks.
std::string_view number_text(const JsonSlice& value) {
  std::string_view text = value.text();
  if (value.kind == JsonSlice::Kind::kNested || value.kind == JsonSlice::Kind::kNone) return {};
  if (!value.is_string()) return text;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Number signed_result(Wide magnitude, bool negative, std::int64_t& out) {
  if (magnitude > static_cast<Wide>(kMostInt64)) return Number::kHuge;
  const auto value = static_cast<std::int64_t>(magnitude);
  out = negative ? -value : value;
  return Number::kGood;
}

/// Decimal digits and where the point stands: value = digits * 10^exponent.
struct Decimal {
  bool negative = false;
  Wide digits = 0;
  int exponent = 0;
  bool cut = false;  // digits beyond what Wide holds were dropped
};

// The exponent part, "e-3". False if malformed. Clamped: beyond +-400 every number is huge or
// nothing.
bool parse_exponent(std::string_view text, int& exponent) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  int value = 0;
  for (char c : text) value = std::min(400, value * 10 + (c - '0'));
  exponent += negative ? -value : value;
  return true;
}

bool parse_decimal(std::string_view text, Decimal& out) {
  std::size_t i = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) out.negative = text[i++] == '-';
  bool any = false, point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(text[i])) break;
    any = true;
    if (out.digits < static_cast<Wide>(kMostInt64) * static_cast<Wide>(1000000000)) {
      out.digits = out.digits * 10 + static_cast<unsigned>(text[i] - '0');
      out.exponent -= point ? 1 : 0;
    } else {  // 28 digits are more than int64 can use: count only their places
      out.cut = true;
      if (!point && out.exponent < 400) ++out.exponent;
    }
  }
  if (!any) return false;
  if (i == text.size()) return true;
  return (text[i] == 'e' || text[i] == 'E') && parse_exponent(text.substr(i + 1), out.exponent);
}

// digits * 10^exponent, rounded half away from zero.
Number scale(const Decimal& decimal, std::int64_t& out) {
  Wide value = decimal.digits;
  int exponent = decimal.exponent;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > static_cast<Wide>(kMostInt64)) return Number::kHuge;
    value *= 10;
  }
  unsigned last = 0;
  for (; exponent < 0 && (value != 0 || last != 0); ++exponent) {
    last = static_cast<unsigned>(value % 10);
    value /= 10;
  }
  return signed_result(value + (last >= 5 ? 1 : 0), decimal.negative, out);
}

// At most 16 digits and three decimals: what nearly every row holds.
bool plain_us(std::string_view text, std::int64_t& ns) {
  constexpr std::size_t kMostDigits = 16;
  const char *begin = text.data(), *end = begin + text.size();
  std::uint64_t whole = 0;
  const char* p = pass_digits(begin, end, whole);
  const auto digits = static_cast<std::size_t>(p - begin);
  if (digits == 0 || digits > kMostDigits || whole > kMostInt64 / 1000 - 1) return false;
  auto value = static_cast<std::int64_t>(whole);
  if (p == end) return ns = value * 1000, true;
  if (*p++ != '.') return false;
  const auto decimals = end - p;
  if (decimals == 0 || decimals > 3) return false;
  for (std::ptrdiff_t k = 0; k < 3; ++k) {
    if (k < decimals && !is_digit(p[k])) return false;
    value = value * 10 + (k < decimals ? p[k] - '0' : 0);
  }
  ns = value;
  return true;
}

Number parse_hex(std::string_view digits, bool negative, std::int64_t& out) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (end != digits.data() + digits.size() || digits.empty()) return Number::kBad;
  if (error != std::errc()) return Number::kHuge;
  if (negative) return signed_result(bits, true, out);
  out = static_cast<std::int64_t>(bits);
  return Number::kGood;
}

// Four hexadecimal digits of a \u escape; -1 if they are not there.
int hex4(std::string_view text, std::size_t at) {
  unsigned value = 0;
  if (at + 4 > text.size()) return -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  return error == std::errc() && end == text.data() + at + 4 ? static_cast<int>(value) : -1;
}

constexpr std::uint32_t kReplacement = 0xfffd;

// The \u escape whose four digits begin at `at`; moves `at` past it (and past a second half).
bool append_unicode_escape(std::string_view text, std::size_t& at, std::string& out) {
  const int first = hex4(text, at);
  if (first < 0) return append_utf8(out, kReplacement), false;
  at += 4;
  const auto unit = static_cast<unsigned>(first);
  if (unit < 0xd800 || unit > 0xdfff) return append_utf8(out, unit), true;
  if (unit < 0xdc00 && text.substr(at, 2) == "\\u") {
    const int second = hex4(text, at + 2);
    if (second >= 0xdc00 && second <= 0xdfff) {
      at += 6;
      const auto low = static_cast<unsigned>(second);
      return append_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)), true;
    }
  }
  return append_utf8(out, kReplacement), false;
}

// @return whether every escape was a good one.
bool unescape(std::string_view text, std::string& out) {
  static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  bool good = true;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      const std::size_t next = std::min(text.find('\\', i), text.size());
      out.append(text.substr(i, next - i));
      i = next;
      continue;
    }
    const char letter = text[i + 1];  // a JsonSlice never ends in a lone backslash
    i += 2;
    const std::size_t known = kLetters.find(letter);
    if (letter == 'u') {
      good = append_unicode_escape(text, i, out) && good;
    } else if (known != std::string_view::npos) {
      out.push_back(kMeanings[known]);
    } else {
      good = false;
      out.push_back(letter);
    }
  }
  return good;
}

// Control characters that may not stand there: strings may hold none, other JSON text white space.
bool is_wrong_control(char c, bool in_string) {
  if (static_cast<unsigned char>(c) >= 0x20) return false;
  return in_string || (c != '\n' && c != '\r' && c != '\t');
}

}  // namespace

Number parse_us_as_ns(const JsonSlice& value, std::int64_t& ns) {
  const std::string_view text = number_text(value);
  if (plain_us(text, ns)) return Number::kGood;
  Decimal decimal;
  if (!parse_decimal(text, decimal)) return Number::kBad;
  decimal.exponent += 3;
  return scale(decimal, ns);
}

Number parse_any_integer(const JsonSlice& value, std::int64_t& out) {
  std::string_view text = number_text(value);
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty()) return Number::kBad;
  if (std::int64_t number = 0; plain_integer(text, number)) {
    out = negative ? -number : number;
    return Number::kGood;
  }
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    return parse_hex(text.substr(2), negative, out);
  }
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (error == std::errc() && end == text.data() + text.size() && !negative) {
    out = static_cast<std::int64_t>(bits);
    return Number::kGood;
  }
  Decimal decimal;
  if (!parse_decimal(text, decimal)) return Number::kBad;
  decimal.negative ^= negative;
  return scale(decimal, out);
}

Number parse_real(const JsonSlice& value, double& out) {
  const std::string_view text = number_text(value);
  Decimal decimal;
  if (!parse_decimal(text, decimal)) return Number::kBad;
  out = static_cast<double>(decimal.digits);
  for (; decimal.exponent < 0; ++decimal.exponent) out /= 10;
  for (; decimal.exponent > 0; --decimal.exponent) out *= 10;
  if (decimal.negative) out = -out;
  return std::isfinite(out) ? Number::kGood : Number::kHuge;
}

bool clean_text(const JsonSlice& value, std::string& out) {
  const auto wrong = [&value](char c) { return is_wrong_control(c, value.is_string()); };
  std::string text(value.text());
  bool replaced = std::any_of(text.begin(), text.end(), wrong);
  if (replaced) std::replace_if(text.begin(), text.end(), wrong, ' ');
  if (!simdjson::validate_utf8(text)) {
    replaced = true;
    text = valid_utf8(text, "?");
  }
  out.clear();
  if (!value.escaped) {
    out = std::move(text);
  } else if (!unescape(text, out)) {
    replaced = true;
  }
  return replaced;
}

}  // namespace flopcast::trace
