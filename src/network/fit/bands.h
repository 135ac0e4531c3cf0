// Floor 2, private to the fit of collectives: 10-90 % bands from what curves miss.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "network/fit/kriging.h"

namespace flopcast::network {

/// Sizes are judged in four classes: below 64 KB, 4 MB, 64 MB, and above.
inline constexpr std::size_t kSizeClasses = 4;
std::size_t size_class(double bytes);
std::string_view size_class_name(std::size_t size_class);

/// 10 and 90 % quantiles of log(measured/forecast) in units of the estimate's sd.
struct Band {
  double low = -1.28, high = 1.28;
};
using Bands = std::array<Band, kSizeClasses>;
/// Inside a node, where all is alike, and between nodes.
using SystemBands = std::array<std::array<Bands, kDistances>, 2>;

/// Classes with too few misses take the quantiles of all; normal ones where those are too few.
Bands bands_of(const std::vector<Kriging::Miss>& misses);
/// What lies between knots: every inner knot against the line through its neighbours, in log time.
Bands bands_between(const std::vector<MeasuredCurve>& curves);

}  // namespace flopcast::network
