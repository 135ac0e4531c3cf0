// Floor 5: gaps between the tokens that clients see, counted by length: a day of a fleet makes 10^8 of them.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// A histogram of times in buckets 1/512 of their length wide. Counts and sums are exact integers, so that the order
/// in which gaps are added, and whether one by one or as a run, makes no difference.
class TokenGaps {
 public:
  /// `count` gaps of this length; negative ones count as 0. @pre count >= 0
  void add(Time gap, std::int64_t count = 1);
  /// `count` gaps of each length first + i x growth, 0 <= i < steps. @pre none is negative
  void add_run(Time first, Time growth, std::int64_t steps, std::int64_t count = 1);
  void merge(const TokenGaps& other);  ///< adds the other's
  void clear();                        ///< as new

  std::int64_t count() const { return count_; }        ///< gaps in all
  Seconds mean() const;                                ///< exact; 0 where there are none
  Time max() const { return count_ ? max_ : Time{}; }  ///< the longest; 0 where there are none
  /// The gap of nearest rank, at most 1/512 of itself beside it: the mean of its bucket. 0 where there are
  /// none. @param percent 0 to 100
  Time percentile(double percent) const;

 private:
  __extension__ using Wide = __int128;
  struct Bucket {
    std::int64_t count = 0;
    Wide excess = 0;  // sum of what gaps are longer than the bucket's least
  };
  Bucket& bucket(std::int64_t index);

  std::vector<Bucket> buckets_;  // of the octaves met, from lowest_ on
  std::int64_t lowest_ = 0;      // index of the first of them
  std::int64_t count_ = 0;
  Wide sum_ = 0;
  Time max_;
};

}  // namespace flopcast
