// Runs of entries in one array that were given back, by length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/rates/numbers.h"

namespace flopcast::network::flow {

/// @tparam next the member of an entry that names another while it is free
template <typename Entry, std::uint32_t Entry::*next>
class FreeRuns {
 public:
  /// Room for so many entries side by side. @return the first.
  std::uint32_t take(std::vector<Entry>& entries, std::uint32_t count) {
    if (count < first_.size() && first_[count] != kNone) {
      const std::uint32_t first = first_[count];
      first_[count] = entries[first].*next;
      return first;
    }
    entries.resize(entries.size() + count);
    return static_cast<std::uint32_t>(entries.size() - count);
  }
  void give_back(std::vector<Entry>& entries, std::uint32_t first, std::uint32_t count) {
    if (count == 0) return;
    if (count >= first_.size()) first_.resize(count + std::size_t{1}, kNone);
    entries[first].*next = first_[count];
    first_[count] = first;
  }

 private:
  std::vector<std::uint32_t> first_;  // by length
};

}  // namespace flopcast::network::flow
