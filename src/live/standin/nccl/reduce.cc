#include "live/standin/nccl/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace flopcast::live {
namespace {

/// A type that the machine has. Sums of signed integers wrap, as they do on a GPU.
template <typename T>
struct Native {
  using Stored = T;
  using Value = T;
  static T load(T stored) { return stored; }
  static T store(T value) { return value; }
};

/// Floating point of at most 16 bits: one of sign, then exponent, then mantissa.
/// @param with_infinity whether the greatest exponent is infinity and NaN; else only its last value is NaN
/// @param saturates whether what is too large becomes the greatest number
template <typename StoredAs, int exponent, int mantissa, bool with_infinity, bool saturates>
struct Small {
  using Stored = StoredAs;
  using Value = float;
  static constexpr int kBias = (1 << (exponent - 1)) - 1;
  static constexpr unsigned kExponents = 1u << exponent, kMantissas = 1u << mantissa;
  static constexpr unsigned kSign = 1u << (exponent + mantissa);
  /// The greatest number, without sign.
  static constexpr unsigned kGreatest =
      with_infinity ? (kExponents - 1) * kMantissas - 1 : kExponents * kMantissas - 2;
  static constexpr unsigned kNan = kExponents * kMantissas - 1;

  static float magnitude(unsigned bits) {
    const unsigned power = bits / kMantissas, fraction = bits % kMantissas;
    if (with_infinity && power == kExponents - 1) {
      return fraction == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    }
    if (!with_infinity && bits == kNan) return std::numeric_limits<float>::quiet_NaN();
    const unsigned whole = power == 0 ? fraction : kMantissas + fraction;
    return std::ldexp(static_cast<float>(whole),
                      std::max(static_cast<int>(power), 1) - kBias - mantissa);
  }
  static float load(Stored stored) {
    const float value = magnitude(stored & (kSign - 1));
    return (stored & kSign) != 0 ? -value : value;
  }
  static Stored store(float value) {
    const unsigned sign = std::signbit(value) ? kSign : 0;
    if (std::isnan(value)) return static_cast<Stored>(sign | kNan);
    int power = 0;
    const double size = std::abs(static_cast<double>(value));
    std::frexp(size, &power);
    power = size == 0 ? 1 - kBias : std::max(power - 1, 1 - kBias);
    // To the nearest, and of two to the even one.
    const double quanta = std::nearbyint(std::ldexp(size, mantissa - power));
    const double bits =
        quanta + static_cast<double>(kMantissas) * static_cast<double>(power - 1 + kBias);
    if (!(bits <= kGreatest)) {
      const bool infinite = with_infinity && !(saturates && std::isfinite(value));
      return static_cast<Stored>(sign | (infinite ? kGreatest + 1 : kGreatest));
    }
    return static_cast<Stored>(sign | static_cast<unsigned>(bits));
  }
};

using Half = Small<std::uint16_t, 5, 10, true, false>;
using Brain = Small<std::uint16_t, 8, 7, true, false>;
using E4M3 = Small<std::uint8_t, 4, 3, false, true>;
using E5M2 = Small<std::uint8_t, 5, 2, true, true>;

template <typename Act>
void with_type(Element element, Act&& act) {
  switch (element) {
    case Element::kInt8:
      return act(Native<std::int8_t>());
    case Element::kUint8:
      return act(Native<std::uint8_t>());
    case Element::kInt32:
      return act(Native<std::int32_t>());
    case Element::kUint32:
      return act(Native<std::uint32_t>());
    case Element::kInt64:
      return act(Native<std::int64_t>());
    case Element::kUint64:
      return act(Native<std::uint64_t>());
    case Element::kFloat16:
      return act(Half());
    case Element::kFloat32:
      return act(Native<float>());
    case Element::kFloat64:
      return act(Native<double>());
    case Element::kBfloat16:
      return act(Brain());
    case Element::kFloat8E4M3:
      return act(E4M3());
    case Element::kFloat8E5M2:
      return act(E5M2());
  }
}

template <typename T>
T multiplied(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // In 64 bits without sign nothing overflows that would not wrap.
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
/// As fmax and fmin, which have no integers: what is no number counts for nothing.
template <typename T>
T greater(T a, T b) {
  return a > b || b != b ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return a < b || b != b ? a : b;
}

template <typename T>
T put_together(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kProduct:
      return multiplied(a, b);
    case Reduction::kMaximum:
      return greater(a, b);
    case Reduction::kMinimum:
      return smaller(a, b);
    default:
      return added(a, b);
  }
}

/// Integers are cut off.
template <typename T>
T shared_out(T sum, std::size_t parts) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(sum) / static_cast<std::int64_t>(parts));
  } else {
    return static_cast<T>(
        sum / static_cast<std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>(parts));
  }
}

template <typename Stored>
Stored read_at(const std::byte* at, std::size_t index) {
  Stored stored;
  std::memcpy(&stored, at + index * sizeof stored, sizeof stored);
  return stored;
}
template <typename Stored>
void write_at(std::byte* at, std::size_t index, Stored stored) {
  std::memcpy(at + index * sizeof stored, &stored, sizeof stored);
}

}  // namespace

std::optional<Element> element_of(int type) {
  if (type < 0 || type > static_cast<int>(Element::kFloat8E5M2)) return std::nullopt;
  return static_cast<Element>(type);
}

std::size_t bytes_of(Element element) {
  std::size_t bytes = 0;
  with_type(element, [&bytes](auto type) { bytes = sizeof(typename decltype(type)::Stored); });
  return bytes;
}

void reduce_parts(Element element, Reduction reduction, std::span<const std::byte* const> parts,
                  std::size_t count, std::byte* to) {
  with_type(element, [&](auto type) {
    using Type = decltype(type);
    using Stored = typename Type::Stored;
    using Value = typename Type::Value;
    for (std::size_t i = 0; i < count; ++i) {
      Value value = Type::load(read_at<Stored>(parts[0], i));
      for (const std::byte* const part : parts.subspan(1))
        value = put_together(reduction, value, Type::load(read_at<Stored>(part, i)));
      if (reduction == Reduction::kAverage) value = shared_out(value, parts.size());
      write_at(to, i, Type::store(value));
    }
  });
}

void scale(Element element, const std::byte* from, const std::byte* scalar, std::size_t count,
           std::byte* to) {
  with_type(element, [&](auto type) {
    using Type = decltype(type);
    using Stored = typename Type::Stored;
    const auto factor = Type::load(read_at<Stored>(scalar, 0));
    for (std::size_t i = 0; i < count; ++i)
      write_at(to, i, Type::store(multiplied(Type::load(read_at<Stored>(from, i)), factor)));
  });
}

}  // namespace flopcast::live
