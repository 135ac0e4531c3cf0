#include "hardware/cluster/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace flopcast {

using namespace hardware;  // the room's own names

namespace {

/// Ports of today's switches that go down to nodes (64-port switches, half of them up).
constexpr unsigned kChildrenPerLeaf = 32;

std::uint64_t product(const std::vector<unsigned>& sizes) {
  std::uint64_t result = 1;
  for (const unsigned size : sizes) result *= size;
  return result;
}

/// The fewest leaves of at most kChildrenPerLeaf children, all alike where that costs no more than
/// twice as many.
std::vector<unsigned> leaves_of(unsigned children) {
  const unsigned fewest = (children + kChildrenPerLeaf - 1) / kChildrenPerLeaf;
  for (unsigned leaves = fewest; leaves <= 2 * fewest; ++leaves) {
    if (children % leaves == 0) return {children / leaves, leaves};
  }
  return {(children + fewest - 1) / fewest, fewest};
}

/// A dragonfly as Slingshot machines are built (NERSC Perlmutter, OLCF Frontier): four nodes to a switch, 32 switches
/// to a group.
std::vector<unsigned> groups_of(unsigned children) {
  const unsigned per_router = std::min(children, 4U);
  const unsigned routers = std::min((children + per_router - 1) / per_router, 32U);
  const unsigned per_group = per_router * routers;
  return {per_router, routers, (children + per_group - 1) / per_group};
}

std::size_t most_dimensions(FabricKind fabric) {
  switch (fabric) {
    case FabricKind::kTorus:
      return 8;
    case FabricKind::kDragonfly:
    case FabricKind::kFatTree:
      return 3;
    case FabricKind::kRail:
      return 2;
    default:
      return 1;
  }
}

/// Leaves, pods and groups: the last one need not be full.
bool may_be_part_empty(FabricKind fabric) {
  return fabric == FabricKind::kFatTree || fabric == FabricKind::kRail ||
         fabric == FabricKind::kDragonfly;
}

Diagnostic shape_error(const Level& level, const std::string& where, std::string what,
                       std::string hint) {
  return {ErrorCode::kBadInput, where, fmt::format("{}: {}", level.name, what), std::move(hint)};
}

std::string shape_text(const std::vector<unsigned>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace

std::optional<Diagnostic> hardware::complete_shape(Level& level, const std::string& where) {
  if (!level.shape.empty()) {
    if (level.shape.size() > most_dimensions(level.fabric)) {
      return shape_error(
          level, where,
          fmt::format("a {} has at most {} dimension(s), shape is {}", name(level.fabric),
                      most_dimensions(level.fabric), shape_text(level.shape)),
          "give fewer sizes");
    }
    const std::uint64_t full = product(level.shape);
    const bool part_empty = may_be_part_empty(level.fabric) && level.size < full &&
                            full - full / level.shape.back() < level.size;
    if (full != level.size && !part_empty) {
      return shape_error(level, where,
                         fmt::format("shape {} holds {}, but {} are to be joined",
                                     shape_text(level.shape), full, level.size),
                         fmt::format("choose sizes whose product is {}", level.size));
    }
    if (level.fabric == FabricKind::kDragonfly && level.shape.size() != 3) {
      return shape_error(level, where, "a dragonfly has three sizes",
                         "write children per router x routers per group x groups, like 4x8x16");
    }
    return std::nullopt;
  }
  switch (level.fabric) {
    case FabricKind::kTorus:
      if (level.size == 1) break;
      return shape_error(level, where, "the shape of the torus is missing",
                         "say its dimensions, like torus 4x4x4");
    case FabricKind::kDragonfly:
      level.shape = groups_of(level.size);
      return std::nullopt;
    case FabricKind::kFatTree:
    case FabricKind::kRail:
      level.shape = leaves_of(level.size);
      return std::nullopt;
    default:
      break;
  }
  level.shape = {level.size};
  return std::nullopt;
}

std::optional<Diagnostic> hardware::outside_of_limits(const std::string& what,
                                                      BytesPerSecond bandwidth, Seconds latency) {
  constexpr std::string_view kHint = "check the number and its unit";
  if (!(bandwidth.value >= kBandwidthLimits.least && bandwidth.value <= kBandwidthLimits.most)) {
    return Diagnostic{ErrorCode::kBadInput, "",
                      fmt::format("{} of {}: links have {} to {}", what,
                                  quantity_text(bandwidth.value, UnitKind::kBytesPerSecond),
                                  quantity_text(kBandwidthLimits.least, UnitKind::kBytesPerSecond),
                                  quantity_text(kBandwidthLimits.most, UnitKind::kBytesPerSecond)),
                      std::string(kHint)};
  }
  if (!(latency.value >= 0 && latency.value <= kLatencyLimits.most)) {
    return Diagnostic{ErrorCode::kBadInput, "",
                      fmt::format("{} with a latency of {}: links have at most {}", what,
                                  quantity_text(latency.value, UnitKind::kSeconds),
                                  quantity_text(kLatencyLimits.most, UnitKind::kSeconds)),
                      std::string(kHint)};
  }
  return std::nullopt;
}

std::optional<Diagnostic> hardware::check_levels(const Cluster& cluster, const std::string& where) {
  std::uint64_t chips = 1;
  constexpr std::uint64_t kMostChips = 1U << 24;
  if (cluster.levels.empty() || cluster.node_levels == 0 ||
      cluster.node_levels > cluster.levels.size()) {
    return Diagnostic{ErrorCode::kBadInput, where, "the cluster has no levels",
                      "say how its chips are joined"};
  }
  for (const Level& level : cluster.levels) {
    if (level.size == 0 || level.ports == 0 || !(level.efficiency > 0 && level.efficiency <= 1) ||
        !(level.oversubscription >= 1) || !(level.latency.value >= 0)) {
      return shape_error(level, where, "a size, share or latency is out of range",
                         "size and ports >= 1, 0 < efficiency <= 1, oversubscription >= 1");
    }
    chips *= level.size;
    if (chips > kMostChips) {
      return Diagnostic{ErrorCode::kTooLarge, where, "the cluster has more than 2^24 chips",
                        "check the sizes"};
    }
    if (level.size > 1 && level.port_bandwidth.value <= 0) {
      return shape_error(level, where, "no bandwidth is known",
                         fmt::format("name a link or a bandwidth, like 'rail NDR' or "
                                     "'{}.bandwidth 50GB/s'",
                                     level.name));
    }
    if (level.size == 1) continue;
    if (auto wrong =
            outside_of_limits(level.name + ": a port", level.port_bandwidth, level.latency)) {
      wrong->where = where;
      return wrong;
    }
  }
  return std::nullopt;
}

namespace {

/// The slice of `chips` in a torus of `pod`, both from the shortest side on: of those that fit the one
/// whose longest side is shortest, then the most equal one. Empty: none fits.
std::vector<unsigned> slice_of(std::span<const unsigned> pod, unsigned chips,
                               unsigned shortest = 1) {
  if (pod.size() == 1) {
    const bool fits = chips >= shortest && chips <= pod[0];
    return fits ? std::vector<unsigned>{chips} : std::vector<unsigned>{};
  }
  std::vector<unsigned> best;
  for (unsigned side = shortest; side <= pod[0] && side <= chips / side; ++side) {
    if (chips % side != 0) continue;
    std::vector<unsigned> rest = slice_of(pod.subspan(1), chips / side, side);
    if (rest.empty() || (!best.empty() && rest.back() > best.back())) continue;
    rest.insert(rest.begin(), side);
    best = std::move(rest);
  }
  return best;
}

/// A slice that is narrower than its pod is open there: a chip at the edge lacks one of two links, and
/// collectives wait for it. Optical switches close the rings of 3-D tori in blocks of four (Jouppi et al.
/// 2023).
bool is_open(std::size_t dimensions, unsigned side, unsigned whole) {
  constexpr unsigned kBlock = 4;
  return side > 2 && side < whole && (dimensions < 3 || side % kBlock != 0);
}

/// @return whether the torus has a slice of so many chips; makes `level` one.
bool slice_torus(Level& level, unsigned chips) {
  std::vector<unsigned> pod = level.shape;
  std::ranges::sort(pod);
  const std::vector<unsigned> slice = slice_of(pod, chips);
  if (slice.empty()) return false;
  const unsigned planes = std::max(1U, level.ports / level.neighbours());
  unsigned missing = 0;
  for (std::size_t i = 0; i < slice.size(); ++i) missing += is_open(pod.size(), slice[i], pod[i]);
  level.size = chips;
  level.shape = slice;
  const unsigned links = level.neighbours();
  level.ports = planes * links;
  level.efficiency *= static_cast<double>(links - missing) / links;
  return true;
}

}  // namespace

void hardware::resize_level(Level& level, unsigned size) {
  const unsigned planes = std::max(1U, level.ports / level.neighbours());
  level.size = size;
  level.shape = {size};
  if (level.fabric == FabricKind::kFullyConnected || level.fabric == FabricKind::kRing) {
    level.ports = planes * level.neighbours();
  } else {
    level.shape.clear();
  }
}

bool hardware::shrink_levels(std::vector<Level>& levels, unsigned chips) {
  std::size_t kept = 0;
  while (kept < levels.size() && chips % levels[kept].size == 0) chips /= levels[kept++].size;
  if (chips > 1) {
    if (kept == levels.size() || chips >= levels[kept].size) return false;
    if (levels[kept].fabric == FabricKind::kTorus) {
      if (!slice_torus(levels[kept++], chips)) return false;
    } else {
      if (levels[kept].shape.size() > 1) return false;
      resize_level(levels[kept++], chips);
    }
  }
  levels.resize(kept);
  return true;
}

unsigned Level::neighbours() const {
  switch (fabric) {
    case FabricKind::kRing:
      return std::max(1U, torus_neighbours(size));
    case FabricKind::kFullyConnected:
      return std::max(1U, size - 1);
    case FabricKind::kTorus: {
      unsigned sum = 0;
      for (const unsigned extent : shape) sum += torus_neighbours(extent);
      return std::max(1U, sum);
    }
    default:
      return 1;
  }
}

unsigned Cluster::chips() const {
  return std::accumulate(levels.begin(), levels.end(), 1U,
                         [](unsigned n, const Level& level) { return n * level.size; });
}

unsigned Cluster::chips_per_node() const {
  return std::accumulate(levels.begin(), levels.begin() + node_levels, 1U,
                         [](unsigned n, const Level& level) { return n * level.size; });
}

}  // namespace flopcast
