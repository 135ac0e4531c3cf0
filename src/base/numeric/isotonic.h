// Isotonic regression by pooling adjacent violators (Ayer et al. 1955).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace flopcast {

/// Makes lines of numbers never fall, as near to what they were as that allows in the weighted sum of
/// squares. An object is for many lines: it keeps its memory.
class IsotonicRegression {
 public:
  /// The line of `length` values from `first` on, `stride` apart. @pre weights are above 0
  void fit(std::span<double> values, std::span<const double> weights, std::size_t first,
           std::size_t stride, std::size_t length);
  void fit(std::span<double> values, std::span<const double> weights) {
    fit(values, weights, 0, 1, values.size());
  }

 private:
  struct Pool {
    double sum = 0, weight = 0;
    std::size_t length = 0;
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools_;
};

}  // namespace flopcast
