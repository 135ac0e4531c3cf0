// Numbers that look random and are the same in every run: what is held out, sampled, hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flopcast {

/// A fixed pseudo-random number of `x` (splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// At most `most` of `rows` indices, spread by mix(), in growing order.
std::vector<std::size_t> sample_rows(std::size_t rows, std::size_t most);

}  // namespace flopcast
