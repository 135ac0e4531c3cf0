#include "live/standin/triton/number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flopcast::live::triton {
namespace {

using Specials = Format::Specials;

constexpr Format kFormats[] = {
    {"f32", 32, true, 23, 127},
    {"bf16", 16, true, 7, 127},
    {"f16", 16, true, 10, 15},
    {"f64", 64, true, 52, 1023},
    {"f8E4M3FN", 8, true, 3, 7, Specials::kOneNan},
    {"f8E5M2", 8, true, 2, 15},
    {"f8E4M3FNUZ", 8, true, 3, 8, Specials::kNegativeZero},
    {"f8E5M2FNUZ", 8, true, 2, 16, Specials::kNegativeZero},
    {"i1", 1},
    {"i8", 8},
    {"i16", 16},
    {"i32", 32},
    {"i64", 64},
};
constexpr Format kAddress{"i64", 64};

constexpr int kMantissaOfDouble = 52;

int least_exponent(const Format& format) { return 1 - format.bias; }
int most_exponent(const Format& format) {
  const int all = 1 << (static_cast<int>(format.bits) - 1 - format.mantissa);
  return all - 1 - format.bias - (format.specials == Specials::kInfinity ? 1 : 0);
}
double largest(const Format& format) {
  // Where all ones is NaN, the largest has a mantissa less by one.
  const double ulps = format.specials == Specials::kOneNan ? 2 : 1;
  return std::ldexp(2 - ulps * std::ldexp(1.0, -format.mantissa), most_exponent(format));
}

/// To a multiple of what the last bit of the mantissa is there.
double to_grid(double value, const Format& format) {
  const int exponent = std::max(std::ilogb(value), least_exponent(format));
  const int quantum = exponent - format.mantissa;
  return std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
}

/// The same of normal numbers, by their bits; half goes to even.
double by_bits(double value, const Format& format) {
  const int dropped = kMantissaOfDouble - format.mantissa;
  auto bits = std::bit_cast<std::uint64_t>(value);
  bits += (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<double>(bits & ~((std::uint64_t{1} << dropped) - 1));
}

std::uint64_t encoded(double value, const Format& format) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits - 1) : 0;
  const std::uint64_t ones = (std::uint64_t{1} << (format.bits - 1)) - 1;
  const std::uint64_t fraction = (std::uint64_t{1} << format.mantissa) - 1;
  const bool ieee = format.specials == Specials::kInfinity;
  if (std::isnan(value)) {
    if (format.specials == Specials::kNegativeZero) return ones + 1;
    return sign | (ieee ? ones & ~(fraction >> 1) : ones);
  }
  if (std::isinf(value))
    return sign | (ones & ~fraction);  // only where there is one: else it was rounded
  if (value == 0) return format.specials == Specials::kNegativeZero ? 0 : sign;
  const int exponent = std::max(std::ilogb(value), least_exponent(format));
  const auto units =
      static_cast<std::uint64_t>(std::fabs(std::ldexp(value, format.mantissa - exponent)));
  const bool normal = units > fraction;
  const auto field = static_cast<std::uint64_t>(normal ? exponent + format.bias : 0);
  return sign | field << format.mantissa | (units & fraction);
}

double decoded(std::uint64_t bits, const Format& format) {
  const bool negative = (bits >> (format.bits - 1) & 1) != 0;
  const std::uint64_t ones = (std::uint64_t{1} << (format.bits - 1)) - 1;
  const std::uint64_t fraction = (std::uint64_t{1} << format.mantissa) - 1;
  const std::uint64_t size = bits & ones, units = size & fraction;
  const auto field = static_cast<int>(size >> format.mantissa);
  const double sign = negative ? -1 : 1;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == Specials::kNegativeZero && negative && size == 0) return kNan;
  if (format.specials == Specials::kOneNan && size == ones) return kNan;
  if (format.specials == Specials::kInfinity && size >= (ones & ~fraction))
    return units == 0 ? sign * std::numeric_limits<double>::infinity() : kNan;
  const double whole = static_cast<double>(field == 0 ? units : units + fraction + 1);
  return sign * std::ldexp(whole, std::max(1, field) - format.bias - format.mantissa);
}

}  // namespace

const Format* format_of(const Type& type) {
  if (type.kind == Type::Kind::kPointer) return &kAddress;
  for (const Format& one : kFormats)
    if (one.name == type.element) return &one;
  return nullptr;
}

Type element_type(const std::string& element) {
  Type type;
  type.element = element;
  type.kind = element.starts_with('i') ? Type::Kind::kInteger : Type::Kind::kFloat;
  return type;
}

double rounded(double value, const Format& format) {
  if (format.bits == 64 || !std::isfinite(value) || value == 0) {
    const bool holds = std::isfinite(value) || std::isnan(value) ||
                       (format.specials == Specials::kInfinity && format.bits > 8);
    return holds ? value : std::copysign(largest(format), value);
  }
  if (format.bits == 32) return static_cast<double>(static_cast<float>(value));
  const bool normal = std::fabs(value) >= std::ldexp(1.0, least_exponent(format));
  const double near = normal ? by_bits(value, format) : to_grid(value, format);
  const double most = largest(format);
  if (std::fabs(near) <= most) return near;
  return std::copysign(format.bits == 8 ? most : std::numeric_limits<double>::infinity(), near);
}

std::int64_t wrapped(std::int64_t value, unsigned bits) {
  if (bits >= 64) return value;
  if (bits == 1) return value & 1;
  const unsigned unused = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
}

std::uint64_t bits_of_word(std::int64_t word, const Format& format) {
  if (!format.floats) return natural(word, format.bits);
  if (format.bits == 64) return static_cast<std::uint64_t>(word);
  if (format.bits == 32) return std::bit_cast<std::uint32_t>(static_cast<float>(double_of(word)));
  return encoded(double_of(word), format);
}

std::int64_t word_of_bits(std::uint64_t bits, const Format& format) {
  if (!format.floats) return wrapped(static_cast<std::int64_t>(bits), format.bits);
  if (format.bits == 64) return static_cast<std::int64_t>(bits);
  if (format.bits == 32)
    return word_of(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  return word_of(decoded(natural(static_cast<std::int64_t>(bits), format.bits), format));
}

}  // namespace flopcast::live::triton
