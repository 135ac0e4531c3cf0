#include "serving/requests/clock.h"

#include <algorithm>

#include "base/text/numbers.h"

namespace flopcast::serving {
namespace {

constexpr std::int64_t kSecondPs = 1'000'000'000'000;
constexpr WidePs kMostPs = static_cast<WidePs>(kSecondPs) * kSecondPs;
/// Digits beyond these are below a picosecond, or the number is beyond any time.
constexpr int kMostDigits = 30;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// digits x 10^exponent
struct DecimalText {
  WidePs digits = 0;
  int exponent = 0;
};

/// Takes digits, point and decimals off `text`. False: they are not there.
bool take_digits(std::string_view& text, DecimalText& out) {
  bool any = false, point = false;  // digits since the start or the point
  int held = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !point && any) {
      point = true;
      any = false;
      continue;
    }
    if (!is_decimal_digit(c)) break;
    any = true;
    if (held < kMostDigits) {
      out.digits = out.digits * 10 + (c - '0');
      held += out.digits != 0;
      out.exponent -= point;
    } else {
      out.exponent += !point;
    }
  }
  return any;
}

/// |value| x unit, rounded half up; nothing where it is beyond any time.
std::optional<WidePs> scaled_ps(DecimalText value, std::int64_t unit) {
  if (value.digits == 0) return WidePs{0};
  // The unit is a power of ten: it only moves the point, so that no digit is lost before rounding.
  for (; unit > 1; unit /= 10) ++value.exponent;
  WidePs ps = value.digits;
  for (; value.exponent > 0; --value.exponent) {
    if (ps > kMostPs) return std::nullopt;
    ps *= 10;
  }
  unsigned last = 0;
  for (; value.exponent < 0 && (ps != 0 || last != 0); ++value.exponent) {
    last = static_cast<unsigned>(ps % 10);
    ps /= 10;
  }
  ps += last >= 5 ? 1 : 0;
  return ps > kMostPs ? std::nullopt : std::optional(ps);
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  if (month != 2) return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
}

/// Takes `digits` digits, then the sign after them unless it is 0. Nothing: they are not there, or above `most`.
std::optional<std::int64_t> take_part(std::string_view& text, std::size_t digits, char sign,
                                      std::int64_t least, std::int64_t most) {
  if (text.size() < digits ||
      !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(digits),
                   is_decimal_digit))
    return std::nullopt;
  const auto value = parse_whole(text.substr(0, digits));
  text.remove_prefix(digits);
  if (!value || *value < least || *value > most) return std::nullopt;
  if (sign == 0) return value;
  if (text.empty() || text.front() != sign) return std::nullopt;
  text.remove_prefix(1);
  return value;
}

/// What stands behind a time: seconds east of Greenwich.
std::optional<std::int64_t> zone_seconds(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_part(text, 2, text.size() == 5 ? ':' : '\0', 0, 18);
  const auto minutes = hours ? take_part(text, 2, 0, 0, 59) : std::nullopt;
  if (!minutes || !text.empty()) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<WidePs> decimal_ps(std::string_view text, std::int64_t unit) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  DecimalText value;
  if (!take_digits(text, value)) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(text.substr(1).starts_with('+') ? 2 : 1);
    const auto exponent = take_whole<std::int64_t>(text);
    if (!exponent) return std::nullopt;
    value.exponent += static_cast<int>(std::clamp<std::int64_t>(*exponent, -1'000'000, 1000));
  }
  if (!text.empty()) return std::nullopt;
  const std::optional<WidePs> ps = scaled_ps(value, unit);
  return ps && negative ? std::optional(-*ps) : ps;
}

std::optional<WidePs> calendar_ps(std::string_view text) {
  const auto year = take_part(text, 4, '-', 1, 9999);
  const auto month = year ? take_part(text, 2, '-', 1, 12) : std::nullopt;
  if (!month) return std::nullopt;
  const char between = text.size() > 2 && text[2] == 'T' ? 'T' : ' ';
  const auto day = take_part(text, 2, between, 1, days_in(*year, *month));
  const auto hour = day ? take_part(text, 2, ':', 0, 23) : std::nullopt;
  const auto minute = hour ? take_part(text, 2, ':', 0, 59) : std::nullopt;
  if (!minute) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto second = decimal_ps(text.substr(0, end), kSecondPs);
  const auto zone = zone_seconds(text.substr(end));
  if (!second || *second >= static_cast<WidePs>(60) * kSecondPs || !zone) return std::nullopt;
  const std::int64_t whole =
      days_of(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 - *zone;
  return static_cast<WidePs>(whole) * kSecondPs + *second;
}

}  // namespace flopcast::serving
