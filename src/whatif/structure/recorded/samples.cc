#include "whatif/structure/recorded/samples.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::whatif::structure {
namespace {

/// A value is no sample of the same work beyond this many times the median and this much more.
constexpr double kFarTimes = 4;
constexpr Time kFarMore = Time::from_us(50);

}  // namespace

Time times(Time time, double factor) { return rounded_ps(static_cast<double>(time.ps) * factor); }

void Samples::settle() {
  std::sort(sorted_.begin(), sorted_.end());
  if (sorted_.empty()) return;
  const Time far = std::max(times(median(), kFarTimes), median() + kFarMore);
  while (sorted_.back() > far) sorted_.pop_back();
}

Time Samples::median() const {
  return sorted_.empty() ? Time{} : sorted_[(sorted_.size() - 1) / 2];
}

Time Samples::deviation() const {
  Samples off;
  for (const Time value : sorted_) {
    off.add(value > median() ? value - median() : median() - value);
  }
  std::sort(off.sorted_.begin(), off.sorted_.end());
  return off.median();
}

Time Samples::draw(std::uint64_t seed, Time otherwise) const {
  return sorted_.empty() ? otherwise : sorted_[seed % sorted_.size()];
}

void Samples::scale(double factor) {
  for (Time& value : sorted_) value = times(value, factor);
}

void Samples::shift(Time by) {
  for (Time& value : sorted_) value += by;
}

}  // namespace flopcast::whatif::structure
