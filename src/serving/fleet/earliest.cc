#include "serving/fleet/earliest.h"

#include <algorithm>
#include <bit>

namespace flopcast::serving {

Earliest::Earliest(std::size_t places)
    : times_(std::bit_ceil(std::max<std::size_t>(places, 2)), Time::max()), first_(times_.size()) {
  const std::size_t leaves = times_.size();
  for (std::size_t node = leaves - 1; node > 0; --node) {
    first_[node] = node >= leaves / 2 ? 2 * node - leaves : first_[2 * node];
  }
}

void Earliest::set(std::size_t place, Time time) {
  times_[place] = time;
  std::size_t node = (place + times_.size()) / 2;
  const std::size_t even = place & ~std::size_t{1};
  first_[node] = times_[even + 1] < times_[even] ? even + 1 : even;
  for (node /= 2; node > 0; node /= 2) {
    const std::size_t left = first_[2 * node], right = first_[2 * node + 1];
    first_[node] = times_[right] < times_[left] ? right : left;
  }
}

}  // namespace flopcast::serving
