#include "base/text/versions.h"

#include <cctype>
#include <cstddef>
#include <cstdint>

namespace flopcast {

bool older_version(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text, std::size_t& at) {
    std::uint64_t value = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) {
      value = value * 10 + static_cast<std::uint64_t>(text[at++] - '0');
    }
    return value;
  };
  // A name ("nccl-tests") is older than any number.
  const auto named = [](std::string_view text) {
    return text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]));
  };
  if (named(a) != named(b)) return named(a);
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const bool digits = std::isdigit(static_cast<unsigned char>(a[i])) &&
                        std::isdigit(static_cast<unsigned char>(b[j]));
    if (digits) {
      const std::uint64_t x = number(a, i), y = number(b, j);
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace flopcast
