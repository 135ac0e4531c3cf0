// Floor 0: physical quantities as types. Each is a double in its SI unit; adding seconds to bytes
// does not compile, and the few products that mean something give the right type.
//
//   Bytes{1e9} / BytesPerSecond{50e9}   is Seconds{0.02}
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace flopcast {

/// A double with a unit. `value` is in the SI unit of the alias below. Operators do what
/// their types say: units that do not fit together do not compile.
template <typename Unit>
struct Quantity {
  double value = 0;  ///< in the SI unit

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return {-value}; }
  constexpr Quantity operator+(Quantity o) const { return {value + o.value}; }
  constexpr Quantity operator-(Quantity o) const { return {value - o.value}; }
  constexpr Quantity operator*(double factor) const { return {value * factor}; }
  constexpr Quantity operator/(double divisor) const { return {value / divisor}; }
  constexpr double operator/(Quantity o) const { return value / o.value; }
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value -= o.value, *this; }
  constexpr Quantity& operator*=(double factor) { return value *= factor, *this; }
  friend constexpr Quantity operator*(double factor, Quantity q) { return q * factor; }
};

/// Tags that tell quantities apart; nothing is ever of these types.
namespace unit {
struct Second;
struct Byte;
struct Flop;
struct BytePerSecond;
struct FlopPerSecond;
}  // namespace unit

/// estimated time; what is recorded or simulated is Time
using Seconds = Quantity<unit::Second>;
using Bytes = Quantity<unit::Byte>;  ///< an amount of memory or traffic; 1e9 are a GB
using Flops = Quantity<unit::Flop>;  ///< an amount of work: a multiply-add counts as 2
using BytesPerSecond = Quantity<unit::BytePerSecond>;  ///< bandwidth
using FlopsPerSecond = Quantity<unit::FlopPerSecond>;  ///< speed of computing

/// @cond operators
constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return {amount.value / rate.value};
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return {amount.value / rate.value};
}
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) {
  return {amount.value / time.value};
}
constexpr FlopsPerSecond operator/(Flops amount, Seconds time) {
  return {amount.value / time.value};
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return {rate.value * time.value}; }
constexpr Flops operator*(FlopsPerSecond rate, Seconds time) { return {rate.value * time.value}; }
/// @endcond

/// What a number rests on, best first. A sum rests on the worst of its parts.
enum class Basis : std::uint8_t {
  kMeasured,  ///< this very case was measured
  kTable,     ///< interpolated between measured cases
  kFitted,    ///< a formula whose coefficients were fitted to measurements of this system
  kRoofline,  ///< published peak rates, or another system's fit scaled by them
  kAssumed,   ///< a constant nobody measured
};
/// "measured", "table", "fitted", "roofline", "assumed".
constexpr std::string_view name(Basis basis) {
  constexpr std::string_view kNames[] = {"measured", "table", "fitted", "roofline", "assumed"};
  return kNames[static_cast<int>(basis)];
}

}  // namespace flopcast
