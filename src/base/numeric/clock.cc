#include "base/numeric/clock.h"

#include <fmt/format.h>

namespace flopcast {

Diagnostic beyond_clock(std::string_view where, std::string_view what, std::string_view hint) {
  return {ErrorCode::kNoAnswer, std::string(where),
          fmt::format("{}: longer than the 53 days that a time may be", what), std::string(hint)};
}

}  // namespace flopcast
