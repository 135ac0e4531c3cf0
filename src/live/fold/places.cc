#include "live/fold/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

using Ranks = std::vector<std::int32_t>;

bool joins(const Level& level) {
  const bool is_tree = level.fabric == FabricKind::kSwitch ||
                       level.fabric == FabricKind::kFatTree || level.fabric == FabricKind::kRail;
  return !is_tree || level.oversubscription > 1;
}

/// Chips of the parts of a cluster that are joined by less than they have within.
std::vector<std::uint32_t> parts_of(const Cluster& cluster) {
  std::vector<std::uint32_t> parts{cluster.chips_per_node()};
  std::uint32_t below = cluster.chips_per_node();
  for (std::size_t i = cluster.node_levels; i < cluster.levels.size(); ++i) {
    const Level& level = cluster.levels[i];
    if (joins(level)) parts.push_back(below);
    if (joins(level) && level.shape.size() > 1) parts.push_back(below * level.shape.front());
    below *= level.size;
  }
  return parts;
}

/// Which ranks of a group share a part with which, whatever the parts' numbers.
std::vector<std::size_t> places_of(const Ranks& group, std::uint32_t part) {
  std::vector<std::size_t> places;
  std::map<std::uint32_t, std::size_t> met;
  for (const std::int32_t rank : group)
    places.push_back(
        met.try_emplace(static_cast<std::uint32_t>(rank) / part, met.size()).first->second);
  return places;
}

/// Numbers of those that are alike, rank by rank.
std::vector<std::uint32_t> kinds_of(const Folding& folding, const Ranks& group) {
  std::vector<std::uint32_t> kinds;
  for (const std::int32_t rank : group)
    kinds.push_back(folding.alike[static_cast<std::size_t>(rank)]);
  return kinds;
}

}  // namespace

bool shares_tiers(const Cluster& cluster) {
  return cluster.graph ||
         std::any_of(cluster.levels.begin() + cluster.node_levels, cluster.levels.end(), joins);
}

std::string unlike_places(const Folding& folding, const Cluster& cluster, std::uint32_t node) {
  std::vector<std::uint32_t> parts = parts_of(cluster);
  parts.push_back(node);
  for (const std::uint32_t part : parts) {
    for (const std::vector<Ranks>& family : folding.families) {
      std::map<std::vector<std::uint32_t>, const Ranks*> first_of;
      for (const Ranks& group : family) {
        const Ranks& first = *first_of.try_emplace(kinds_of(folding, group), &group).first->second;
        if (places_of(first, part) == places_of(group, part)) continue;
        return fmt::format("ranks {} and {} do not lie alike on parts of {} chips",
                           text_of_ranks(first), text_of_ranks(group), part);
      }
    }
  }
  return {};
}

}  // namespace flopcast::live
