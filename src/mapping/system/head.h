// The text of a system: how many chips of which kind, and the cluster that they are known to make.
#pragma once

#include <optional>
#include <string_view>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

struct SystemHead {
  Chip chip;
  unsigned count = 0;  ///< 0: not said
  std::optional<Cluster> cluster;
  /// The text names chips, not machines: how they are joined may be said otherwise.
  bool bare = false;
};

/// "8 x sn10", "sn30", "4 x dgx-h100, rail NDR", "cluster.toml". Errors (kUsage): Catalog::cluster's
/// where no chip has that name either.
Result<SystemHead> read_system_head(std::string_view text, const Catalog& catalog);

}  // namespace flopcast::mapping
