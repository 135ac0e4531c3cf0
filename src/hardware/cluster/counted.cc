// How many of what: the front of a cluster's line.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/hardware.h"
#include "hardware/cluster/spoken.h"
#include "hardware/entry/catalog_entry.h"

namespace flopcast {
namespace {

/// Removes `prefix` and the blanks after it; a word must end where the prefix does.
bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!name_key(text.substr(0, prefix.size())).starts_with(name_key(prefix))) return false;
  const std::string_view rest = text.substr(std::min(prefix.size(), text.size()));
  if (text.size() < prefix.size() || (!rest.empty() && rest.front() != ' ')) return false;
  text = trim(rest);
  return true;
}

bool take_any(std::string_view& text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return take_prefix(text, prefix); });
}

}  // namespace

std::string CountedName::with_count(std::uint64_t other) const {
  return count == 0 ? fmt::format("{} x {}", other, name) : fmt::format("{}{}", other, behind);
}

Result<CountedName> Catalog::counted(std::string_view text) const {
  CountedName counted;
  counted.name = trim(text);
  const std::string_view digits =
      counted.name.substr(0, counted.name.find_first_not_of("0123456789"));
  if (digits.empty() || digits.size() == counted.name.size()) return counted;
  constexpr unsigned kMost = 1U << 24;
  counted.count = parse_whole<unsigned>(digits).value_or(0);
  if (counted.count == 0 || counted.count > kMost) {
    return Diagnostic{ErrorCode::kBadInput, std::string(text),
                      fmt::format("expected how many, found '{}'", digits),
                      fmt::format("give a number from 1 to {}", kMost)};
  }
  // "8 H100 per node": what stands in front is not how many there are.
  const auto spoken = hardware::spoken_machine(counted.name.substr(0, counted.name.find(',')));
  if (spoken && spoken->per_node == counted.count && spoken->nodes != counted.count) {
    counted.count = 0;
    return counted;
  }
  counted.behind = counted.name.substr(digits.size());
  std::string_view& name = counted.name = trim(counted.behind);
  if (take_any(name, {"x", "\xC3\x97", "*", "nodes of", "node of"})) return counted;
  counted.chips = take_any(name, {"chips of", "gpus of", "chips on", "gpus on"});
  // "64xh100": the sign stands against the name.
  const std::string_view node = trim(name.substr(0, name.find(',')));
  const bool sign = !counted.chips && name.size() > 1 && name.front() == 'x';
  if (sign && find_entry(nodes_, node, kPointee) == nullptr) name.remove_prefix(1);
  return counted;
}

}  // namespace flopcast
