// Floor 5: the largest load that holds, by bisection.
//
// Nothing is taken to be monotone: a percentile of a finite run has noise, and a load may hold although a lower one does
// not. Told is the largest load that was tried and holds below every one that was tried and does not; half of it, three
// quarters and seven eighths are always among those tried.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving/requests.h"

namespace flopcast {

/// The loads that may be tried: numbers of three digits from `least` to `most`.
struct LoadRange {
  double least = 0, most = 0;
  bool whole = false;  ///< whole numbers alone, of users
};
/// Of requests a second from a hundredth to a hundred thousand, of multiples of a trace's rate, of users up to as many
/// as `seats`. @param seats requests that the fleet runs at once: more users only queue
LoadRange load_range(ServingWorkload::Kind kind, std::int64_t seats);

/// A load that was tried.
struct TriedLoad {
  double load = 0;     ///< users, requests a second or times the trace's rate
  bool holds = false;  ///< within the limits, and no queue that grows as long as requests come
  double ratio =
      0;  ///< limit_ratio of its run, or the least that it can be where its beginning told
};
/// What bisection found.
struct LargestLoad {
  double load = 0;               ///< 0: none that was tried holds
  std::vector<TriedLoad> tried;  ///< rising
  /// the smallest load above it that was tried and does not hold; 0: it is the largest that there may be
  double next() const;
};
/// The largest load of the range that holds. Which loads are tried depends on what holds alone. Errors: those of `try_load`.
/// @param enough where it is at or below this nobody wants to know it: it may be told as anything up to it
Result<LargestLoad> largest_load(const LoadRange& range,
                                 const std::function<Result<TriedLoad>(double)>& try_load,
                                 double enough = 0);

}  // namespace flopcast
