#include "live/standin/triton/value.h"

#include <algorithm>

namespace flopcast::live::triton {
namespace {

std::int64_t held(std::int64_t value) {
  if (value > kUnbounded) return kUnbounded;
  if (value < -kUnbounded) return -kUnbounded;
  return value;
}

/// Neither is anything but a bound that is none.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  if (a <= -kUnbounded || b <= -kUnbounded) return -kUnbounded;
  if (a >= kUnbounded || b >= kUnbounded) return kUnbounded;
  return held(a + b);
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return (a < 0) == (b < 0) ? kUnbounded : -kUnbounded;
  return held(result);
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Of the shape that both have; a scalar takes the other's.
Value like(const Value& a, const Value& b) {
  const Value& shaped = a.rank >= b.rank ? a : b;
  Value made;
  made.rank = shaped.rank;
  made.shape = shaped.shape;
  made.root = a.root >= 0 ? a.root : b.root;
  return made;
}

Value between(const Value& a, const Value& b, std::int64_t low, std::int64_t high) {
  Value made = like(a, b);
  made.low = low;
  made.high = high;
  made.varies = a.varying() | b.varying();
  made.exact = low == high && made.low > -kUnbounded && made.high < kUnbounded;
  return made;
}

/// Any of it may differ from what else is known.
Value by_corners(const Value& a, const Value& b, std::int64_t (*of)(std::int64_t, std::int64_t)) {
  const std::int64_t all[] = {of(a.least(), b.least()), of(a.least(), b.most()),
                              of(a.most(), b.least()), of(a.most(), b.most())};
  return between(a, b, *std::min_element(all, all + 4), *std::max_element(all, all + 4));
}

/// Every step of an exact one.
template <typename Step>
Value with_steps(const Value& a, const Value& b, std::int64_t low, Step&& step) {
  Value made = like(a, b);
  made.low = low;
  made.exact = low > -kUnbounded && low < kUnbounded;
  for (unsigned i = 0; i < made.rank; ++i) {
    made.step[i] = step(i);
    made.exact = made.exact && made.step[i] > -kUnbounded && made.step[i] < kUnbounded;
  }
  if (made.exact && made.least() > -kUnbounded && made.most() < kUnbounded) return made;
  return between(a, b, -kUnbounded, kUnbounded);
}

}  // namespace

Value Value::unknown(const std::vector<std::int64_t>& shape) {
  Value made;
  made.rank = static_cast<unsigned>(std::min(shape.size(), kMostDims));
  std::copy_n(shape.begin(), made.rank, made.shape.begin());
  made.varies = static_cast<std::uint8_t>((1u << made.rank) - 1);
  return made;
}
Value Value::number(std::int64_t value) { return filled({}, value); }
Value Value::filled(const std::vector<std::int64_t>& shape, std::int64_t value) {
  Value made = unknown(shape);
  if (value <= -kUnbounded || value >= kUnbounded) return made;
  made.exact = true;
  made.low = made.high = value;
  return made;
}
Value Value::truth_of(const std::vector<std::int64_t>& shape, bool all) {
  Value made = unknown(shape);
  made.truth = true;
  if (all) made.to = made.shape;
  if (made.rank == 0) return number(all ? 1 : 0);
  return made;
}

std::int64_t Value::least() const {
  if (!exact) return low;
  std::int64_t end = low;
  for (unsigned i = 0; i < rank; ++i)
    if (step[i] < 0) end = sum(end, product(step[i], shape[i] - 1));
  return end;
}
std::int64_t Value::most() const {
  if (!exact) return high;
  std::int64_t end = low;
  for (unsigned i = 0; i < rank; ++i)
    if (step[i] > 0) end = sum(end, product(step[i], shape[i] - 1));
  return end;
}
std::uint8_t Value::varying() const {
  if (!exact) return varies;
  std::uint8_t bits = 0;
  for (unsigned i = 0; i < rank; ++i)
    if (step[i] != 0 && shape[i] > 1) bits |= static_cast<std::uint8_t>(1u << i);
  return bits;
}
bool Value::empty() const {
  if (!truth) return exact && rank == 0 && low == 0;
  for (unsigned i = 0; i < rank; ++i)
    if (from[i] >= to[i]) return true;
  return false;
}
bool Value::full() const {
  if (!truth) return exact && rank == 0 && low != 0;
  for (unsigned i = 0; i < rank; ++i)
    if (from[i] > 0 || to[i] < shape[i]) return false;
  return sure;
}
void Value::take_flags(const Value& other) {
  of_product = of_product || other.of_product;
  of_weights = of_weights || other.of_weights;
  of_gradient = of_gradient || other.of_gradient;
}

Value add(const Value& a, const Value& b) {
  if (a.exact && b.exact)
    return with_steps(a, b, sum(a.low, b.low),
                      [&](unsigned i) { return sum(a.step[i], b.step[i]); });
  return between(a, b, sum(a.least(), b.least()), sum(a.most(), b.most()));
}
Value subtract(const Value& a, const Value& b) {
  Value negative = multiply(b, Value::number(-1));
  negative.root = -1;
  return add(a, negative);
}
Value multiply(const Value& a, const Value& b) {
  const Value& fixed = a.constant() ? a : b;
  const Value& other = a.constant() ? b : a;
  if (fixed.constant() && other.exact) {
    return with_steps(a, b, product(other.low, fixed.low),
                      [&](unsigned i) { return product(other.step[i], fixed.low); });
  }
  return by_corners(a, b, product);
}

Value divide(const Value& a, const Value& b, bool floors) {
  if (!b.constant() || b.low == 0) {
    // Of numbers that are not negative the quotient is none that is larger.
    if (a.least() >= 0 && b.least() > 0)
      return between(a, b, a.least() / b.most(), a.most() / b.least());
    return between(a, b, -kUnbounded, kUnbounded);
  }
  const std::int64_t by = b.low;
  const auto quotient = [&](std::int64_t value) {
    if (value <= -kUnbounded || value >= kUnbounded)
      return (value < 0) == (by < 0) ? kUnbounded : -kUnbounded;
    return floors ? floor_of(value, by) : value / by;
  };
  if (a.exact && by > 0 && a.least() >= 0) {
    bool even = true;
    for (unsigned i = 0; i < a.rank; ++i) even = even && a.step[i] % by == 0;
    if (even) return with_steps(a, b, a.low / by, [&](unsigned i) { return a.step[i] / by; });
  }
  const std::int64_t first = quotient(a.least()), last = quotient(a.most());
  return between(a, b, std::min(first, last), std::max(first, last));
}

Value remainder(const Value& a, const Value& b) {
  const bool positive = b.constant() && b.low > 0;
  if (!positive) {
    if (a.least() >= 0 && b.least() > 0)
      return between(a, b, 0, std::min(a.most(), sum(b.most(), -1)));
    return between(a, b, -kUnbounded, kUnbounded);
  }
  const std::int64_t by = b.low;
  if (a.least() < 0) {
    if (a.constant()) return between(a, b, a.low % by, a.low % by);
    return between(a, b, 1 - by, by - 1);
  }
  if (a.exact && a.least() / by == a.most() / by) {
    return with_steps(a, b, a.low - a.least() / by * by, [&](unsigned i) { return a.step[i]; });
  }
  if (a.exact) {
    bool even = true;
    for (unsigned i = 0; i < a.rank; ++i) even = even && a.step[i] % by == 0;
    if (even) return between(a, b, a.low % by, a.low % by);
  }
  return between(a, b, 0, std::min(a.most(), by - 1));
}

Value smaller(const Value& a, const Value& b) {
  if (a.most() <= b.least()) return a;
  if (b.most() <= a.least()) return b;
  return between(a, b, std::min(a.least(), b.least()), std::min(a.most(), b.most()));
}
Value larger(const Value& a, const Value& b) {
  if (a.least() >= b.most()) return a;
  if (b.least() >= a.most()) return b;
  return between(a, b, std::max(a.least(), b.least()), std::max(a.most(), b.most()));
}

Value both_bits(const Value& a, const Value& b) {
  const Value& mask = b.constant() ? b : a;
  const Value& other = b.constant() ? a : b;
  if (mask.constant() && mask.low >= 0) {
    if ((mask.low & (mask.low + 1)) == 0 && other.least() >= 0)
      return remainder(other, Value::number(mask.low + 1));
    if (other.constant()) return between(a, b, mask.low & other.low, mask.low & other.low);
    return between(a, b, 0, mask.low);
  }
  if (a.least() >= 0 && b.least() >= 0) return between(a, b, 0, std::min(a.most(), b.most()));
  return between(a, b, -kUnbounded, kUnbounded);
}

Value either(const Value& a, const Value& b) {
  if (a.truth || b.truth) {
    Value made = a.truth ? a : b;
    for (unsigned i = 0; i < made.rank; ++i) {
      made.from[i] = 0;
      made.to[i] = made.shape[i];
    }
    made.sure = false;
    return made;
  }
  Value made = between(a, b, std::min(a.least(), b.least()), std::max(a.most(), b.most()));
  made.take_flags(a);
  made.take_flags(b);
  if (a.root != b.root) made.root = -1;
  return made;
}

namespace {

Value maybe(const Value& a, const Value& b) {
  Value made = like(a, b);
  made.root = -1;
  if (made.rank == 0) {
    made.low = 0;
    made.high = 1;
    return made;
  }
  made.truth = true;
  made.sure = false;
  made.to = made.shape;
  return made;
}

/// Where a difference is below zero.
Value negative(const Value& difference) {
  const Value sample = difference;
  if (difference.rank == 0) {
    if (difference.most() < 0) return Value::number(1);
    if (difference.least() >= 0) return Value::number(0);
    return maybe(sample, sample);
  }
  Value made = maybe(sample, sample);
  made.sure = true;
  if (difference.most() < 0) return made;
  if (difference.least() >= 0) {
    made.to = {};
    return made;
  }
  const std::uint8_t varies = difference.varying();
  made.sure = false;
  if (!difference.exact || (varies & (varies - 1)) != 0) return made;
  for (unsigned i = 0; i < made.rank; ++i) {
    const std::int64_t step = difference.step[i];
    if ((varies >> i & 1) == 0) continue;
    made.sure = true;
    // low + step * index < 0
    if (step > 0)
      made.to[i] =
          std::clamp<std::int64_t>(floor_of(-difference.low - 1, step) + 1, 0, made.shape[i]);
    if (step < 0)
      made.from[i] =
          std::clamp<std::int64_t>(floor_of(difference.low, -step) + 1, 0, made.shape[i]);
  }
  return made;
}

}  // namespace

Value compare(std::string_view predicate, const Value& a, const Value& b) {
  const Value one = Value::number(1);
  if (predicate == "eq" || predicate == "ne") {
    const Value difference = subtract(a, b);
    const bool same = difference.constant() && difference.low == 0;
    const bool differs = difference.least() > 0 || difference.most() < 0;
    if (!same && !differs) return maybe(a, b);
    const std::vector<std::int64_t> shape(difference.shape.begin(),
                                          difference.shape.begin() + difference.rank);
    return Value::truth_of(shape, same == (predicate == "eq"));
  }
  // Without a sign they are as with one, as long as neither is negative.
  if (predicate.starts_with('u') && (a.least() < 0 || b.least() < 0)) return maybe(a, b);
  const std::string_view how = predicate.substr(std::min<std::size_t>(1, predicate.size()));
  if (how == "lt") return negative(subtract(a, b));
  if (how == "le") return negative(subtract(subtract(a, b), one));
  if (how == "gt") return negative(subtract(b, a));
  if (how == "ge") return negative(subtract(subtract(b, a), one));
  return maybe(a, b);
}

Value both(const Value& a, const Value& b) {
  if (a.rank == 0 && b.rank == 0 && !a.truth && !b.truth) {
    if (a.empty() || b.empty()) return Value::number(0);
    if (a.full() && b.full()) return Value::number(1);
    return maybe(a, b);
  }
  Value made = a.truth ? a : maybe(a, b);
  if (!a.truth || !b.truth) made.sure = false;
  if (!b.truth) return made;
  for (unsigned i = 0; i < made.rank; ++i) {
    made.from[i] = std::max(made.from[i], b.from[i]);
    made.to[i] = std::min(made.to[i], b.to[i]);
  }
  made.sure = made.sure && b.sure;
  return made;
}
Value any(const Value& a, const Value& b) {
  if (a.full() || b.empty()) return a;
  if (b.full() || a.empty()) return b;
  return maybe(a, b);
}
Value opposite(const Value& a) {
  const std::vector<std::int64_t> shape(a.shape.begin(), a.shape.begin() + a.rank);
  if (a.full()) return Value::truth_of(shape, false);
  if (a.empty() && (!a.truth || a.rank > 0)) return Value::truth_of(shape, true);
  return maybe(a, a);
}

Value within(const Value& a, unsigned bits) {
  if (a.truth || bits == 0 || bits >= 60) return a;
  const std::int64_t limit = std::int64_t{1} << (bits - (bits > 1 ? 1 : 0));
  if (a.least() >= -limit && a.most() < 2 * limit) return a;
  if (!a.exact && !a.bounded()) return a;  // any number, by what its type holds or not
  Value made = between(a, a, -kUnbounded, kUnbounded);
  return made;
}

}  // namespace flopcast::live::triton
