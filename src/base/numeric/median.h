// The value in the middle of many.
#pragma once

#include <algorithm>
#include <vector>

namespace flopcast {

/// Of an even number of values the upper one in the middle; `otherwise` where there is no value.
/// Reorders `values`.
template <typename T>
T upper_median(std::vector<T>& values, T otherwise = {}) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace flopcast
