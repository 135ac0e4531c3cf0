// What has a correlation: looked up for every GPU row, so without a node for each.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// Of several with one correlation, the first that was added.
class Correlations {
 public:
  /// @param most how many will be added
  explicit Correlations(std::size_t most) {
    while (slots() < 2 * most) ++bits_;
    entries_.resize(slots());
  }
  /// @param index not kNoIndex
  void add(std::int64_t correlation, std::uint32_t index) {
    Entry& entry = entries_[slot_of(correlation)];
    if (entry.index == kNoIndex) entry = {correlation, index};
  }
  /// kNoIndex where there is none.
  std::uint32_t find(std::int64_t correlation) const {
    return entries_[slot_of(correlation)].index;
  }

 private:
  struct Entry {
    std::int64_t correlation = 0;
    std::uint32_t index = kNoIndex;
  };
  std::size_t slots() const { return std::size_t{1} << bits_; }
  /// Its own, or the free one where it belongs.
  std::size_t slot_of(std::int64_t correlation) const {
    // Correlations count up: multiplied by the golden ratio they lie apart.
    const std::uint64_t spread = static_cast<std::uint64_t>(correlation) * 0x9e3779b97f4a7c15ULL;
    std::size_t slot = spread >> (64 - bits_);
    while (entries_[slot].index != kNoIndex && entries_[slot].correlation != correlation)
      slot = (slot + 1) & (slots() - 1);
    return slot;
  }

  unsigned bits_ = 1;  // at least one slot stays free
  std::vector<Entry> entries_;
};

}  // namespace flopcast::replaying
