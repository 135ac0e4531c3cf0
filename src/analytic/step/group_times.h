// Times of transfers by how their group lies on the cluster's tiers, remembered.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flopcast/network/collectives.h"
#include "flopcast/parallel.h"

namespace flopcast::analytic {

/// Members of a group within one group of each tier; the last entry holds all. At most kTiers tiers.
inline constexpr std::size_t kTiers = 6;
struct GroupLayout {
  std::array<std::uint32_t, kTiers> inside{};
  std::size_t tiers = 0;
  std::uint32_t members() const { return tiers == 0 ? 1 : inside[tiers - 1]; }
  bool operator==(const GroupLayout&) const = default;
};
GroupLayout group_layout(const Plan& plan, const Placement& placement, Group group);

/// What a dispatcher sends that hands a row once to every node that holds one of its experts, and on
/// to the chips inside (DeepEP: deepseek-ai/DeepEP, README), over what it sends with a copy for every
/// expert. Within one node: once to every chip. Groups of experts, then experts in them, are drawn at random.
double share_sent_once(const Transfer& transfer, const GroupLayout& layout);

/// Not thread-safe.
class GroupTimes {
 public:
  struct Answer {
    double seconds = 0;
    Basis basis = Basis::kMeasured;
  };
  /// @param tiers chips per group of each tier, ascending; the last holds the cluster.
  GroupTimes(const CollectiveModel& network, std::vector<unsigned> tiers, CollectiveSource source);

  /// All groups of this kind communicate at once and share the ports of their node.
  Answer time(CollectiveOp op, Bytes size, DataType type, const GroupLayout& layout);
  /// From one chip to the next: inside a node or between nodes, all chips of the node sending.
  Answer send(Bytes size, DataType type, bool between_nodes);

 private:
  struct Key {
    GroupLayout layout;
    CollectiveOp op;
    DataType type;
    double size;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  Answer ask(const Key& key) const;
  double sharing(const GroupLayout& layout) const;

  const CollectiveModel& network_;
  std::vector<unsigned> tiers_;
  CollectiveSource source_;
  std::unordered_map<Key, Answer, Hash> known_;
};

}  // namespace flopcast::analytic
