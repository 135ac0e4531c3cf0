#include "network/collective/shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace flopcast::network {

BytesPerSecond LevelUse::child() const {
  // Where there is no switch a child reaches only the members it is joined to.
  const unsigned reached = std::min(level->neighbours(), members - 1);
  return neighbour * reached * planes;
}

namespace {

/// How many distinct children of each level the members lie in: counts[l] = distinct rank / stride.
struct Counts {
  std::vector<unsigned> distinct;  // per level, and 1 at the end
  bool regular = true;
};

Counts count_levels(const Cluster& cluster, std::vector<std::uint32_t> ids) {
  Counts counts;
  for (const Level& level : cluster.levels) {
    counts.distinct.push_back(static_cast<unsigned>(ids.size()));
    std::vector<std::uint32_t> parents;
    std::vector<unsigned> sizes;
    parents.reserve(ids.size()), sizes.reserve(ids.size());
    std::uint64_t end = 0;  // of the last parent's children
    for (const std::uint32_t id : ids) {
      if (id >= end) {
        // Most often it is the next parent's.
        const bool next = !parents.empty() && id < end + level.size;
        parents.push_back(next ? parents.back() + 1 : id / level.size), sizes.push_back(0);
        end = (std::uint64_t{parents.back()} + 1) * level.size;
      }
      ++sizes.back();
    }
    if (std::ranges::adjacent_find(sizes, std::ranges::not_equal_to{}) != sizes.end()) {
      counts.regular = false;
    }
    ids = std::move(parents);
  }
  counts.distinct.push_back(static_cast<unsigned>(ids.size()));
  return counts;
}

/// A child's chips are spread evenly over its planes: those of the first child's members.
unsigned reached_planes(const std::vector<std::uint32_t>& ids, unsigned planes,
                        unsigned child_chips) {
  unsigned reached = 0;
  std::uint64_t last = planes;
  for (const std::uint32_t id : ids) {
    if (id / child_chips != ids.front() / child_chips) break;
    const std::uint64_t plane = std::uint64_t{id % child_chips} * planes / child_chips;
    if (plane != last) last = plane, ++reached;
  }
  return reached;
}

LevelUse level_use(const Cluster& cluster, const std::vector<std::uint32_t>& ids,
                   std::uint16_t index, unsigned members, unsigned chips_per_child,
                   unsigned child_chips) {
  const Level& level = cluster.levels[index];
  LevelUse use;
  use.level = &level;
  use.index = index;
  use.members = members;
  use.chips_per_child = chips_per_child;
  use.child_chips = child_chips;
  use.tuned = level.efficiency / cluster.as_measured().levels[index].efficiency;
  const unsigned planes = std::clamp(level.ports / level.neighbours(), 1U, child_chips);
  use.planes = reached_planes(ids, planes, child_chips);
  use.plane = level.child_bandwidth() * level.efficiency / planes;
  use.neighbour = level.neighbour_bandwidth() * level.efficiency / planes;
  return use;
}

std::vector<std::uint32_t> all_chips(const Cluster& cluster) {
  std::vector<std::uint32_t> ids(cluster.chips());
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
  return ids;
}

}  // namespace

Result<std::vector<std::uint32_t>> first_chips_of_nodes(const Cluster& cluster, unsigned ranks,
                                                        unsigned nodes) {
  const unsigned per_node = cluster.chips_per_node(), used = nodes == 0 ? 0 : ranks / nodes;
  if (used == 0 || used > per_node || ranks % nodes != 0 || nodes > cluster.nodes()) {
    return Diagnostic{ErrorCode::kNoAnswer, cluster.name,
                      fmt::format("{} ranks do not spread evenly over {} nodes of {} chips", ranks,
                                  nodes, per_node),
                      "check the numbers of ranks and nodes"};
  }
  std::vector<std::uint32_t> chips;
  for (unsigned n = 0; n < nodes; ++n) {
    for (unsigned i = 0; i < used; ++i) chips.push_back(n * per_node + i);
  }
  return chips;
}

Result<GroupShape> group_shape(const Cluster& cluster, std::span<const std::uint32_t> ranks) {
  std::vector<std::uint32_t> ids(ranks.begin(), ranks.end());
  if (ids.empty()) ids = all_chips(cluster);
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  const bool twice = std::ranges::adjacent_find(ids) != ids.end();
  if (twice || ids.back() >= cluster.chips()) {
    return Diagnostic{ErrorCode::kUsage, cluster.name,
                      twice ? std::string("a chip is named twice among the ranks")
                            : fmt::format("there is no chip {}", ids.back()),
                      fmt::format("ranks are chips 0 to {}", cluster.chips() - 1)};
  }
  const Counts counts = count_levels(cluster, ids);
  GroupShape shape;
  shape.ranks = counts.distinct.front();
  shape.nodes = counts.distinct[std::min<std::size_t>(cluster.node_levels, cluster.levels.size())];
  shape.regular = counts.regular;
  unsigned child_chips = 1;
  for (std::size_t l = 0; l < cluster.levels.size(); ++l) {
    const unsigned inside = counts.distinct[l], groups = counts.distinct[l + 1];
    const unsigned members = (inside + groups - 1) / groups;
    if (members > 1) {
      const unsigned chips = (shape.ranks + inside - 1) / inside;
      shape.levels.push_back(
          level_use(cluster, ids, static_cast<std::uint16_t>(l), members, chips, child_chips));
      if (l < cluster.node_levels) shape.node_levels = shape.levels.size();
    }
    child_chips *= cluster.levels[l].size;
  }
  return shape;
}

}  // namespace flopcast::network
