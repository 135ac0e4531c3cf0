// Floor 0: so many times as long, as people say it: "0.5", "2x faster", "30% less", "twice as long" in numbers.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

struct TimeFactor {
  double factor = 1;  ///< of the time, above 0
  /// What was read as what, where the words are no plain factor of the time: "2x faster", "2x: taken as 2x faster"
  std::string words;
};
/// A number alone is a factor of the time. "2x faster", "2x as fast", "2x slower", "2x longer", "50%" (of the time), "20%
/// faster", "20% slower", "20% less". "2x" alone is taken as faster, and says so. Errors (kUsage): none of these, no
/// number above 0. @param where that stands, for errors
Result<TimeFactor> parse_time_factor(std::string_view text, std::string_view where);

}  // namespace flopcast
