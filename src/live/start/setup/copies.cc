// Launchers that start the command itself, once for each of what they take for ranks.
#include <cstdlib>
#include <string_view>

#include "base/text/numbers.h"
#include "flopcast/live/setup.h"
#include "live/wire/launchers.h"

namespace flopcast {
namespace {

std::optional<std::uint64_t> count_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? parse_whole<std::uint64_t>(std::string_view(text)) : std::nullopt;
}

}  // namespace

std::optional<LiveCopies> live_copies() {
  for (const live::LauncherVariables& launcher : live::kLaunchers) {
    if (!std::getenv(launcher.mark)) continue;
    const auto number = count_in(launcher.rank), all = count_in(launcher.copies);
    if (number && all && *all > 1) return LiveCopies{launcher.rank, *number, *all};
  }
  return std::nullopt;
}

}  // namespace flopcast
