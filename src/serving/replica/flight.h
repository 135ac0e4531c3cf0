// A batch under way: one iteration, or a run of iterations whose times have a closed sum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/numeric/clock.h"
#include "flopcast/base.h"
#include "serving/schedule/progress.h"

namespace flopcast::serving {

/// When all ends that is longer than a time may be: no run goes on from there.
inline constexpr Time kBeyond{kLongestTime.ps + 1};

/// Iteration i of it, from 0, takes first + growth x (tokens each decode has made more by then).
struct Flight {
  bool busy = false;
  Time begin, end;
  Time first, growth;
  std::int64_t steps = 1;
  std::int64_t from = 0;  ///< steps the decodes had made before

  /// when iteration i begins; of `steps`: when the last ends, where no pipeline follows
  Time begins(std::int64_t i, const Progress& progress) const {
    const WidePs at = begin.ps + WidePs{i} * first.ps + WidePs{growth.ps} * progress.sum(from, i);
    return at < kBeyond.ps ? Time{static_cast<std::int64_t>(at)} : kBeyond;
  }
  /// the first iteration, from 1, that begins at or after `at`; `steps` if none does
  std::int64_t first_from(Time at, const Progress& progress) const {
    std::int64_t low = 1, high = steps;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (begins(middle, progress) >= at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// iterations that are over at `now`, in which one is under way
  std::int64_t passed(Time now, const Progress& progress) const {
    if (steps == 1) return 0;
    return first_from({now.ps + 1}, progress) - 1;
  }
};

}  // namespace flopcast::serving
