// Rows of what is printed, as a terminal has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text/utf8.h"

namespace flopcast::test {

/// Columns of the widest row.
inline std::size_t widest_row(std::string_view text) {
  std::size_t widest = 0;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    widest = std::max(widest, display_width(row));
  }
  return widest;
}

}  // namespace flopcast::test
