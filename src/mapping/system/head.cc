#include "mapping/system/head.h"

#include <algorithm>

#include "base/text/names.h"

namespace flopcast::mapping {

Result<SystemHead> read_system_head(std::string_view text, const Catalog& catalog) {
  const std::string_view line = trim(text);
  const Result<CountedName> counted = catalog.counted(line);
  const unsigned count = counted ? counted->count : 0;
  const Result<Chip> chip = catalog.chip(counted ? counted->name : line);
  Result<Cluster> cluster = catalog.cluster(line);
  SystemHead head;
  // A node may have the name of its chip: then it is more chips than were counted.
  head.bare = chip && (!cluster || cluster->chips() == std::max(count, 1U));
  if (!head.bare && !cluster) {
    Diagnostic error = cluster.error();
    error.code = ErrorCode::kUsage;
    return error;
  }
  if (cluster) {
    if (auto unused = unused_fit(*cluster, {}, "a mapping")) return *unused;
  }
  head.chip = head.bare ? *chip : cluster->chip;
  head.count = head.bare ? count : cluster->chips();
  if (cluster) head.cluster = std::move(*cluster);
  return head;
}

}  // namespace flopcast::mapping
