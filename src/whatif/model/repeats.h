// Stretches of a sequence that repeat.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flopcast::whatif {

/// `copies` times the same `period` tokens from `start` on. Further tokens may agree with the unit
/// without making another copy: the run may as well start up to `extra` tokens later.
struct Repeat {
  std::uint32_t start = 0, period = 0, copies = 0;
  std::uint32_t extra = 0;

  std::uint32_t end() const { return start + period * copies; }
  bool operator==(const Repeat&) const = default;
};

/// The longest run of tokens with s[i] == s[i + period] that holds two copies or more, of any period
/// from `shortest` on; among equally long ones that of the smallest period, then the first.
/// Copies 0: there is none. Periods of very long sequences are limited: see kMostComparisons.
Repeat longest_repeat(std::span<const std::uint32_t> tokens, std::uint32_t shortest);

/// The longest run, then the longest before it and after it, and so on; by start.
std::vector<Repeat> find_repeats(std::span<const std::uint32_t> tokens, std::uint32_t shortest);

/// Tokens times periods: what one search may compare.
inline constexpr std::uint64_t kMostComparisons = 200'000'000;

/// Share of the longer sequence that the longest common subsequence covers: 1 the same, 0 nothing in
/// common.
double likeness(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace flopcast::whatif
