// The longest common subsequence of two sequences of ids.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace flopcast {

/// Pairs of positions that hold equal ids, both rising, as many as there can be. Where the
/// sequences differ in thousands of places the work is bounded and the match may be a little
/// shorter.
///
/// E. W. Myers, "An O(ND) difference algorithm and its variations", 1986, section 4b: time grows
/// with length times differences, memory with length.
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_sequences(
    const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b);

}  // namespace flopcast
