// What one position of a program took in each of its copies.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::whatif::structure {

/// Durations of equal work. The median stands for them; a drawn one for one more copy of them, so
/// that many copies drawn side by side differ as much as the recorded ones did.
class Samples {
 public:
  void add(Time value) { sorted_.push_back(value); }
  /// Call once after the last add. A value far above all others was something else than this work
  /// (another process, a page fault): it is kept out.
  void settle();
  bool empty() const { return sorted_.empty(); }
  std::size_t count() const { return sorted_.size(); }
  Time median() const;  ///< of an even number the lower one in the middle; 0 where there are none
  Time deviation() const;  ///< median absolute deviation
  /// One of them, the same for the same seed. `otherwise` where there are none.
  Time draw(std::uint64_t seed, Time otherwise = {}) const;
  /// Every value times `factor`: the same work at another size.
  void scale(double factor);
  /// Every value moved by `by`.
  void shift(Time by);

 private:
  std::vector<Time> sorted_;
};

/// `time` times `factor`, rounded.
Time times(Time time, double factor);

}  // namespace flopcast::whatif::structure
