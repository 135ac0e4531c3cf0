// The median of recorded times: lags, clock offsets, start errors.
#pragma once

#include <algorithm>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::replaying {

/// The upper median; `otherwise` where there is no value. Reorders `values`.
inline Time median(std::vector<Time>& values, Time otherwise = {}) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace flopcast::replaying
