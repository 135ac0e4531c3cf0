// Division by a number that stays the same: routes are mostly such divisions.
#pragma once

#include <cstdint>

namespace flopcast::network {

/// Stands for the number; dividing by it multiplies by 2^64 / number, rounded up. That is too much by
/// less than n / 2^64 for each of the n divided, so the quotient is exact while n x number < 2^64.
class Divisor {
 public:
  Divisor() = default;
  Divisor(std::uint32_t number)  // NOLINT(google-explicit-constructor): it is the number
      : number_(number),
        inverse_(~std::uint64_t{0} / number + 1),
        largest_(~std::uint64_t{0} / number) {}
  operator std::uint32_t() const { return number_; }  // NOLINT(google-explicit-constructor)

  friend std::uint64_t operator/(std::uint64_t n, const Divisor& by) {
    if (by.number_ == 1) return n;
    if (n > by.largest_) return n / by.number_;
    return static_cast<std::uint64_t>((static_cast<Wide>(n) * by.inverse_) >> 64);
  }
  friend std::uint32_t operator/(std::uint32_t n, const Divisor& by) {
    return static_cast<std::uint32_t>(std::uint64_t{n} / by);
  }
  friend std::uint64_t operator%(std::uint64_t n, const Divisor& by) {
    return n - n / by * by.number_;
  }
  friend std::uint32_t operator%(std::uint32_t n, const Divisor& by) {
    return n - n / by * by.number_;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint32_t number_ = 1;
  std::uint64_t inverse_ = 0, largest_ = 0;
};

}  // namespace flopcast::network
