// Clusters from files: which reader a file belongs to.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// A path, by its look (a folder or a known ending) or because there is such a file.
bool looks_like_file(std::string_view name);

/// TOML, ASTRA-sim network yml, NCCL topology XML, the matrix of `nvidia-smi topo -m` or SimAI text.
/// @param count how many of it: nodes described by NCCL or nvidia-smi may be many, all else is whole.
/// @param chip that is named behind it; empty: none
/// @param depth how many files and names led here.
Result<Cluster> read_cluster_file(const Catalog& catalog, const std::string& path, unsigned count,
                                  std::string_view chip, int depth);

}  // namespace flopcast::hardware
