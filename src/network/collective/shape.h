// Floor 2, private: how the members of a collective lie on the levels of a cluster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flopcast/network/closed_form.h"
#include "flopcast/network/collectives.h"

namespace flopcast::network {

/// A level on which members differ.
struct LevelUse {
  const Level* level = nullptr;
  std::uint16_t index = 0;       ///< of the cluster
  unsigned members = 1;          ///< children of one group of this level that take part
  unsigned chips_per_child = 1;  ///< members of the collective in one of those children
  unsigned child_chips = 1;      ///< chips of such a child, members or not
  unsigned planes = 1;           ///< ports of such a child that those chips reach
  BytesPerSecond plane;          ///< bandwidth of one plane, efficiency included
  double tuned = 1;              ///< the level's efficiency over that before it was overridden
  BytesPerSecond neighbour;      ///< of one plane to one neighbour; on a switch that is `plane`

  Seconds latency() const { return level->latency; }
  /// Everything one child can send to the other members at once.
  BytesPerSecond child() const;
  /// One chip's share of that, all chips of the child sending.
  BytesPerSecond chip_share() const { return child() / chips_per_child; }
};

struct GroupShape {
  unsigned ranks = 1, nodes = 1;
  bool regular = true;           ///< as many members in every child; else the largest counts
  std::vector<LevelUse> levels;  ///< innermost first; none where there is one rank
  std::size_t node_levels = 0;   ///< how many of them lie inside a node
  unsigned per_node() const { return ranks / nodes; }
};

/// The first chips of each of the first nodes; an error where they do not fit.
Result<std::vector<std::uint32_t>> first_chips_of_nodes(const Cluster& cluster, unsigned ranks,
                                                        unsigned nodes);

/// @param ranks chips of the cluster; empty: all.
Result<GroupShape> group_shape(const Cluster& cluster, std::span<const std::uint32_t> ranks);

}  // namespace flopcast::network
