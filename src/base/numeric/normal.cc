#include "base/numeric/normal.h"

#include <cmath>
#include <numbers>

namespace flopcast {

double normal_share(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double normal_quantile(double share) {
  // Halved until no number lies between: no approximation to keep in step with the share.
  double low = -40, high = 40;
  for (int halvings = 0; halvings < 100; ++halvings) {
    const double middle = low + (high - low) / 2;
    (normal_share(middle) < share ? low : high) = middle;
  }
  return high;
}

}  // namespace flopcast
