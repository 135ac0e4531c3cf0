// What a run wants of values, from the environment that `flopcast run` sets.
#pragma once

#include <cstdint>

namespace flopcast::plugin {

/// Words of FLOPCAST_LIVE_VALUES, with commas between them: "execute:16384,zipf:1.2". Others are the core's.
struct Settings {
  /// execute:N. Operators whose tensors all have at most so many elements are executed.
  std::int64_t elements = 16384;
  /// Those of integers and booleans alone up to here.
  std::int64_t integers = std::int64_t{1} << 22;
  /// zipf:S. Exponent of the law by which tainted scores choose; 0: all are chosen as often.
  double skew = 0;
};

const Settings& settings();

}  // namespace flopcast::plugin
