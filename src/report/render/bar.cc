#include "report/render/bar.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flopcast::report {

std::string bar(double share, unsigned width) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0)) return {};
  const auto eighths =
      std::max(1L, std::lround(std::min(share, 1.0) * 8 * static_cast<double>(width)));
  std::string text;
  for (long i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[static_cast<std::size_t>(eighths % 8)];
}

}  // namespace flopcast::report
