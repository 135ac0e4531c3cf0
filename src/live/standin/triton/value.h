// What is known of a value while a program of a kernel is followed: integers and addresses exactly or between bounds, of
// tensors as what their indices make of them; of other numbers only what they were made of.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "live/standin/triton/program.h"

namespace flopcast::live::triton {

struct Value;
/// A tensor in memory that blocks are loaded from.
struct Descriptor {
  std::int64_t base = 0;
  int root = -1;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> sizes, strides;  ///< elements; empty: nobody knows
};

/// Numbers are at least -kUnbounded and at most kUnbounded; those two stand for any.
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 60;

struct Value {
  using Dims = std::array<std::int64_t, kMostDims>;

  unsigned rank = 0;
  Dims shape{};
  /// Exact: low + sum of step times index. Else every element lies in [low, high].
  bool exact = false;
  std::int64_t low = -kUnbounded, high = kUnbounded;
  Dims step{};
  std::uint8_t varies =
      0;  ///< dimensions along which elements may differ, a bit each, where not exact
  /// Of truth values: true within [from, to) of each dimension, false elsewhere; not `sure`: true there at most.
  bool truth = false, sure = true;
  Dims from{}, to{};
  int root = -1;  ///< of an address: what it was reckoned from
  /// Of other numbers: a product's result went into it; an exponential of one did; that times another product.
  bool of_product = false, of_weights = false, of_gradient = false;
  std::shared_ptr<const Descriptor> descriptor;

  static Value unknown(const std::vector<std::int64_t>& shape);
  static Value number(std::int64_t value);
  /// Same size as a scalar of that value everywhere.
  static Value filled(const std::vector<std::int64_t>& shape, std::int64_t value);
  static Value truth_of(const std::vector<std::int64_t>& shape, bool all);

  std::int64_t least() const;
  std::int64_t most() const;
  bool constant() const { return exact && varying() == 0; }
  bool bounded() const { return least() > -kUnbounded && most() < kUnbounded; }
  std::uint8_t varying() const;  ///< bits of dimensions along which elements differ
  bool empty() const;            ///< truth values: none is true
  bool full() const;             ///< truth values: surely all are true
  void take_flags(const Value& other);
};

/// Element by element; tensors have the same shape. What is not known of the result is unknown.
Value add(const Value& a, const Value& b);
Value subtract(const Value& a, const Value& b);
Value multiply(const Value& a, const Value& b);
Value divide(const Value& a, const Value& b, bool floors);
Value remainder(const Value& a, const Value& b);
Value smaller(const Value& a, const Value& b);
Value larger(const Value& a, const Value& b);
Value both_bits(const Value& a, const Value& b);  ///< of integers
Value either(const Value& a, const Value& b);     ///< one of the two
/// @param predicate "slt", "uge", "eq"
Value compare(std::string_view predicate, const Value& a, const Value& b);
Value both(const Value& a, const Value& b);  ///< of truth values
Value any(const Value& a, const Value& b);
Value opposite(const Value& a);
/// What fits into so many bits; unknown where it might not.
Value within(const Value& a, unsigned bits);

}  // namespace flopcast::live::triton
