// The shares of many links, of which the lowest is wanted again and again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/rates/numbers.h"

namespace flopcast::network::flow {

/// Shares in one array, the lowest of each block of it beside: finding the lowest costs the blocks
/// that changed and one look at each of the others. Rounds change most shares, so that a heap would
/// be rebuilt over and over.
class Shares {
 public:
  void reset(std::size_t links) {
    lowest_.assign((links + kBlock - 1) / kBlock, kUnbounded);
    changed_.assign(lowest_.size(), false);
    shares_.assign(lowest_.size() * kBlock, kUnbounded);
  }
  void set(std::size_t link, Level share) {
    shares_[link] = share;
    changed_[link / kBlock] = true;
  }
  Level lowest() {
    Level least = kUnbounded;
    for (std::size_t block = 0; block < lowest_.size(); ++block) {
      if (changed_[block]) refresh(block);
      least = std::min(least, lowest_[block]);
    }
    return least;
  }
  /// After lowest(), which was `share`.
  void append_links_at(Level share, std::vector<std::uint32_t>& links) const {
    for (std::size_t block = 0; block < lowest_.size(); ++block) {
      if (lowest_[block] != share) continue;
      for (std::size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
        if (shares_[i] == share) links.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }
  std::size_t bytes() const {
    return (shares_.capacity() + lowest_.capacity()) * sizeof(Level) + changed_.capacity();
  }

 private:
  static constexpr std::size_t kBlock = 16;

  void refresh(std::size_t block) {
    const Level* at = shares_.data() + block * kBlock;
    Level a = at[0], b = at[1], c = at[2], d = at[3];  // four chains of comparisons, not one
    for (std::size_t i = 4; i < kBlock; i += 4) {
      a = std::min(a, at[i]);
      b = std::min(b, at[i + 1]);
      c = std::min(c, at[i + 2]);
      d = std::min(d, at[i + 3]);
    }
    lowest_[block] = std::min(std::min(a, b), std::min(c, d));
    changed_[block] = false;
  }

  std::vector<Level> shares_, lowest_;
  std::vector<std::uint8_t> changed_;
};

}  // namespace flopcast::network::flow
