#include "base/text/amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/format.h"
#include "base/text/numbers.h"

namespace flopcast {

std::string grouped_whole(double count) {
  const std::string digits = fmt::format("{:.0f}", std::max(0.0, count));
  return parse_whole<std::uint64_t>(digits) ? grouped(*parse_whole<std::uint64_t>(digits))
                                            : fmt::format("{:.3g}", count);
}

std::string short_bytes(Bytes bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = std::round(bytes.value);
  std::size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", value == 0 ? 0.0 : value);
  return std::abs(value) < 1e5 ? fmt::format("{:.1f} {}", value, kUnits[unit])
                               : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

}  // namespace flopcast
