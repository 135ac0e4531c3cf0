#include "mapping/system/head.h"

#include <algorithm>
#include <charconv>

#include "base/text/names.h"

namespace flopcast::mapping {
CountedText split_count(std::string_view text) {
  unsigned count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view rest = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  constexpr unsigned kMost = 1U << 24;
  if (error != std::errc() || count == 0 || count > kMost) return {0, text};
  for (const std::string_view sign : {"x ", "X ", "* ", "\xC3\x97 "}) {
    if (rest.starts_with(sign)) return {count, trim(rest.substr(sign.size()))};
  }
  return {0, text};
}

Result<SystemHead> read_system_head(std::string_view text, const Catalog& catalog) {
  const std::string_view line = trim(text);
  const CountedText counted = split_count(line);
  const Result<Chip> chip = catalog.chip(counted.rest);
  Result<Cluster> cluster = catalog.cluster(line);
  SystemHead head;
  // A node may have the name of its chip: then it is more chips than were counted.
  head.bare = chip && (!cluster || cluster->chips() == std::max(counted.count, 1U));
  if (!head.bare && !cluster) {
    Diagnostic error = cluster.error();
    error.code = ErrorCode::kUsage;
    return error;
  }
  head.chip = head.bare ? *chip : cluster->chip;
  head.count = head.bare ? counted.count : cluster->chips();
  if (cluster) head.cluster = std::move(*cluster);
  return head;
}

}  // namespace flopcast::mapping
