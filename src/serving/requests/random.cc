#include "serving/requests/random.h"

namespace flopcast::serving {

// Marsaglia's polar method; the second number of each pair is not used.
double RandomDraws::normal() {
  while (true) {
    const double x = 2 * unit() - 1, y = 2 * unit() - 1, r = x * x + y * y;
    if (r > 0 && r < 1) return x * std::sqrt(-2 * std::log(r) / r);
  }
}

// Marsaglia and Tsang (2000); shapes below 1 by a power of a uniform number.
double RandomDraws::gamma(double shape) {
  if (shape == 1) return -std::log(unit());
  const double above = shape < 1 ? shape + 1 : shape, d = above - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), t = 1 + c * x, v = t * t * t;
    if (t <= 0 || std::log(unit()) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    const double boost = shape < 1 ? std::pow(unit(), 1 / shape) : 1;
    return d * v * boost / shape;
  }
}

}  // namespace flopcast::serving
