// Sorting many things by a whole number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flopcast {

/// Sorts by `key(item)`, an int64; equal ones stay in their order. Eleven bits a pass, and no more
/// passes than the spread of the keys needs: times of a trace take three or four. Few items, and
/// those that are in order already, cost less.
template <typename T, typename KeyOf>
void radix_sort(std::vector<T>& items, KeyOf key) {
  constexpr std::size_t kFew = 1024;
  constexpr unsigned kBits = 11;
  const auto before = [key](const T& a, const T& b) { return key(a) < key(b); };
  if (std::is_sorted(items.begin(), items.end(), before)) return;
  if (items.size() < kFew) return std::stable_sort(items.begin(), items.end(), before);
  const auto [least, most] = std::minmax_element(items.begin(), items.end(), before);
  const auto low = static_cast<std::uint64_t>(key(*least));
  const std::uint64_t spread = static_cast<std::uint64_t>(key(*most)) - low;
  std::vector<T> sorted(items.size());
  for (unsigned shift = 0; shift < 64 && spread >> shift != 0; shift += kBits) {
    const auto digit = [&](const T& item) {
      return (static_cast<std::uint64_t>(key(item)) - low) >> shift & ((1U << kBits) - 1);
    };
    std::array<std::size_t, (1U << kBits) + 1> place{};  // where the next of each digit goes
    for (const T& item : items) ++place[digit(item) + 1];
    for (std::size_t d = 1; d < place.size(); ++d) place[d] += place[d - 1];
    for (const T& item : items) sorted[place[digit(item)]++] = item;
    items.swap(sorted);
  }
}

}  // namespace flopcast
