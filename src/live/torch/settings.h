// What a run wants of values, from the environment that `flopcast run` sets.
#pragma once

#include <cstdint>

namespace flopcast::plugin {

struct Settings {
  /// Operators whose tensors all have at most so many elements are executed. FLOPCAST_LIVE_EXECUTE
  std::int64_t elements = 16384;
  /// Those of integers and booleans alone up to here.
  std::int64_t integers = std::int64_t{1} << 22;
  /// Routing by tainted scores: 0 is uniform, else the exponent of a Zipf law. FLOPCAST_LIVE_ROUTING: "uniform", "zipf:1.2"
  double skew = 0;
};

const Settings& settings();

}  // namespace flopcast::plugin
