#include "mapping/system/head.h"

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"

namespace flopcast::mapping {
CountedText split_count(std::string_view text) {
  std::string_view rest = text;
  const unsigned count = take_whole<unsigned>(rest).value_or(0);
  rest = trim(rest);
  constexpr unsigned kMost = 1U << 24;
  if (count == 0 || count > kMost) return {0, text};
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
