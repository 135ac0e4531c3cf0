#include "report/render/counts.h"

#include <fmt/format.h>

namespace flopcast::report {

std::string parameter_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  // What rounds to a thousand of a unit is one of the next.
  if (value >= 999.95e9) return fmt::format("{:.4g} T", value / 1e12);
  if (value >= 999.95e6) return fmt::format("{:.4g} B", value / 1e9);
  return fmt::format("{:.4g} M", value / 1e6);
}

}  // namespace flopcast::report
