// Who is next among many whose times change: a tree of winners.
#pragma once

#include <cstddef>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::serving {

/// A time for each of n places; the least in O(1), a change in O(log n). Of equal times the lower place is first.
class Earliest {
 public:
  explicit Earliest(std::size_t places);  ///< all at Time::max()
  void set(std::size_t place, Time time);
  Time time() const { return times_[first_[1]]; }  ///< the least
  std::size_t place() const { return first_[1]; }  ///< whose it is

 private:
  std::vector<Time> times_;         // by place, filled up to a power of 2
  std::vector<std::size_t> first_;  // of the places below a node; node 1 is the root
};

}  // namespace flopcast::serving
