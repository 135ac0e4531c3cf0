// Dimensions of a network: from a text, and from the levels of a cluster.
#pragma once

#include <string_view>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

/// Kinds and sizes of "torus:4x2", "dgx-1:8x128", "ring:8,switch:16": innermost first, without
/// bandwidths. Errors (kUsage): no such kind, sizes that do not suit it, more than 2^24 chips.
Result<std::vector<NetworkDimension>> parse_topology(std::string_view text);

/// The levels of a cluster, bandwidths as one chip's share of them. Levels of one child are left out;
/// without any other there is a switch of size 1.
std::vector<NetworkDimension> level_dimensions(const Cluster& cluster);

/// Gives dimensions that are laid over a cluster the bandwidth and latency of the outermost level
/// that each of them crosses.
void take_links_of(const Cluster& cluster, std::vector<NetworkDimension>& dimensions);

}  // namespace flopcast::mapping
