#include "serving/schedule/progress.h"

#include <algorithm>
#include <cmath>

namespace flopcast::serving {
namespace {

// Sum over i < n of floor((a i + b) / m), as Euclid's algorithm shrinks it.
std::int64_t floor_sum(std::int64_t n, std::int64_t m, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m, b %= m;
    const std::int64_t top = a * n + b;
    if (top < m) break;
    n = top / m, b = top % m;
    std::swap(m, a);
  }
  return sum;
}

}  // namespace

Progress::Progress(const Speculation& speculation) {
  if (speculation.kind == Speculation::Kind::kNone || speculation.drafts == 0) return;
  const double accepted = std::clamp(speculation.accepted, 1.0, 1.0 + speculation.drafts);
  rate_ = std::llround(accepted * static_cast<double>(kOne));
}

std::int64_t Progress::drafted_sum(std::int64_t from, std::int64_t steps) const {
  return floor_sum(steps, kOne, rate_, from * rate_) - steps * tokens(from);
}

}  // namespace flopcast::serving
