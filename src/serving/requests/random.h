// Random numbers that are the same on every machine: a number is a function of seed, stream and index, so that
// request 7 is the same however many there are.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/numeric/mix.h"

namespace flopcast::serving {

/// Numbers of one (seed, stream, index), one after the other.
class RandomDraws {
 public:
  RandomDraws(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : state_(mix(seed ^ mix(stream ^ mix(index)))) {}

  std::uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15U); }
  /// above 0, up to 1
  double unit() { return (static_cast<double>(bits() >> 11U) + 1) * 0x1p-53; }
  /// each of least .. most alike. @pre 0 <= most - least < 2^63
  std::int64_t whole(std::int64_t least, std::int64_t most) {
    __extension__ using Wide = unsigned __int128;
    const auto range = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<std::int64_t>((static_cast<Wide>(bits()) * range) >> 64U);
  }
  double normal();
  /// of this shape and mean 1
  double gamma(double shape);

 private:
  std::uint64_t state_;
};

}  // namespace flopcast::serving
