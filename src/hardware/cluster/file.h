// Clusters from files: which reader a file belongs to.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// A path, by its look (a folder or a known ending) or because there is such a file.
bool looks_like_file(std::string_view name);

/// TOML, ASTRA-sim network yml, NCCL topology XML or SimAI text.
/// @param count how many of it: nodes described by NCCL XML may be many, all else is whole.
/// @param depth how many files and names led here.
Result<Cluster> read_cluster_file(const Catalog& catalog, const std::string& path, unsigned count,
                                  int depth);

}  // namespace flopcast::hardware
