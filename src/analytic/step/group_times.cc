#include "analytic/step/group_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flopcast::analytic {
namespace {

/// Chips of a group that lies as `layout` says, packed into the first chips of every tier.
std::vector<std::uint32_t> chips_of(const GroupLayout& layout, const std::vector<unsigned>& tiers) {
  std::vector<std::uint32_t> chips;
  chips.reserve(layout.members());
  for (std::uint32_t member = 0; member < layout.members(); ++member) {
    std::uint32_t rest = member, chip = 0;
    for (std::size_t tier = 0; tier < layout.tiers; ++tier) {
      const std::uint32_t below = tier == 0 ? 1 : layout.inside[tier - 1];
      const std::uint32_t extent = std::max(1U, layout.inside[tier] / below);
      const std::uint32_t stride = tier == 0 ? 1 : tiers[tier - 1];
      // The last tier takes what is left, so that uneven groups stay distinct.
      const bool last = tier + 1 == layout.tiers;
      chip += (last ? rest : rest % extent) * stride;
      rest /= extent;
    }
    chips.push_back(chip);
  }
  return chips;
}

/// Of so many places, those that hold the groups a row's experts are in.
double places_of_groups(const Transfer& transfer, double places) {
  const auto groups = static_cast<double>(transfer.groups);
  const auto drawn = static_cast<double>(transfer.top_groups);
  if (drawn >= groups) return places;
  if (places >= groups) return places * drawn / groups;
  // A place has several groups and is left out where none of them is drawn.
  double left_out = 1;
  for (double other = 0; other < groups / places; ++other) {
    left_out *= std::max(0.0, groups - drawn - other) / (groups - other);
  }
  return places * (1 - left_out);
}

}  // namespace

GroupLayout group_layout(const Plan& plan, const Placement& placement, Group group) {
  GroupLayout layout;
  layout.tiers = std::min(placement.tiers.size(), kTiers);
  for (std::size_t tier = 0; tier < layout.tiers; ++tier) {
    layout.inside[tier] = placement.in_tier(plan, group, tier);
  }
  return layout;
}

double share_sent_once(const Transfer& transfer, const GroupLayout& layout) {
  if (transfer.copies <= 1 || layout.members() < 2) return 1;
  const double inside = std::max(1U, layout.inside[0]);
  const double nodes = layout.members() / inside;
  const double places = places_of_groups(transfer, nodes > 1 ? nodes : layout.members());
  const auto drawn = static_cast<double>(transfer.copies);
  return places * (1 - std::pow(1 - 1 / places, drawn)) / drawn;
}

GroupTimes::GroupTimes(const CollectiveModel& network, std::vector<unsigned> tiers,
                       CollectiveSource source)
    : network_(network), tiers_(std::move(tiers)), source_(source) {}

std::size_t GroupTimes::Hash::operator()(const Key& key) const {
  std::uint64_t h = std::bit_cast<std::uint64_t>(key.size);
  const auto mix = [&](std::uint64_t value) {
    h = (h ^ value) * 0x9E3779B97F4A7C15ULL;
    h ^= h >> 29;
  };
  mix(static_cast<std::uint64_t>(key.op) * 64 + static_cast<std::uint64_t>(key.type));
  for (std::size_t i = 0; i < key.layout.tiers; ++i) mix(key.layout.inside[i]);
  return h;
}

/// How many times more bytes cross a node's ports than when the group is alone: the other chips of
/// the node are in groups of the same kind.
double GroupTimes::sharing(const GroupLayout& layout) const {
  const Cluster& cluster = network_.cluster();
  if (layout.tiers < 2 || layout.inside[0] >= layout.members()) return 1;
  if (cluster.levels.size() <= cluster.node_levels) return 1;
  const double ports = cluster.levels[cluster.node_levels].ports;
  const double chips = tiers_[0], inside = std::max(1U, layout.inside[0]);
  const double alone = std::min(inside, ports);  // ports that one group reaches
  return std::max(1.0, chips / inside * alone / ports);
}

GroupTimes::Answer GroupTimes::ask(const Key& key) const {
  CollectiveQuery query;
  query.op = key.op;
  query.size = Bytes{key.size * sharing(key.layout)};
  query.type = key.type;
  query.ranks = chips_of(key.layout, tiers_);
  query.source = source_;
  const Result<CollectiveEstimate> time = network_.estimate(query);
  // Every group here lies on the cluster, and ring algorithms exist for every size.
  if (!time) return {0, Basis::kAssumed};
  return {time->time.value, time->basis};
}

GroupTimes::Answer GroupTimes::time(CollectiveOp op, Bytes size, DataType type,
                                    const GroupLayout& layout) {
  if (layout.members() < 2 || size.value <= 0) return {};
  if (op == CollectiveOp::kSendRecv) return send(size, type, layout.inside[0] < layout.members());
  const Key key{layout, op, type, size.value};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  return known_.emplace(key, ask(key)).first->second;
}

GroupTimes::Answer GroupTimes::send(Bytes size, DataType type, bool between_nodes) {
  GroupLayout pair;
  pair.tiers = std::min(tiers_.size(), kTiers);
  for (std::size_t tier = 0; tier < pair.tiers; ++tier) {
    pair.inside[tier] = tier == 0 && between_nodes && pair.tiers > 1 ? 1 : 2;
  }
  const Key key{pair, CollectiveOp::kSendRecv, type, size.value};
  if (size.value <= 0) return {};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  return known_.emplace(key, ask(key)).first->second;
}

}  // namespace flopcast::analytic
