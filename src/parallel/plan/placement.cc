// Where the members of each group lie on the network's tiers.
#include <algorithm>
#include <limits>

#include "flopcast/parallel.h"

namespace flopcast {
namespace {

using Extents = std::array<unsigned, kPlanDimensions>;
enum : std::size_t { kTp, kTp2, kCp, kDp, kPp };

Extents degrees(const Plan& plan) { return {plan.tp, plan.tp2, plan.cp, plan.dp, plan.pp}; }

std::uint64_t product(const Extents& extents) {
  std::uint64_t all = 1;
  for (const unsigned extent : extents) all *= extent;
  return all;
}

/// Calls visit(factors) for every way to take a divisor of each of `left`, product <= room.
template <typename Visit>
void for_factors(const Extents& left, std::uint64_t room, std::size_t dimension, Extents& factors,
                 const Visit& visit) {
  if (dimension == kPlanDimensions) return visit(factors);
  for (unsigned d = 1; d <= left[dimension] && d <= room; ++d) {
    if (left[dimension] % d != 0) continue;
    factors[dimension] = d;
    for_factors(left, room / d, dimension + 1, factors, visit);
  }
}

std::vector<Extents> fillings(const Extents& left, std::uint64_t room) {
  std::uint64_t most = 0;
  std::vector<Extents> best;
  Extents factors{};
  for_factors(left, room, 0, factors, [&](const Extents& found) {
    const std::uint64_t filled = product(found);
    if (filled > most) best.clear();
    most = std::max(most, filled);
    if (filled == most) best.push_back(found);
  });
  return best;
}

void place_tier(const Plan& plan, std::size_t tier, Placement& placement,
                std::vector<Placement>& all) {
  const std::vector<unsigned>& tiers = placement.tiers;
  if (tier == tiers.size()) {
    if (placement.inside.back() == degrees(plan)) all.push_back(placement);
    return;
  }
  Extents inner = tier == 0 ? Extents{1, 1, 1, 1, 1} : placement.inside[tier - 1];
  Extents left = degrees(plan);
  for (std::size_t d = 0; d < kPlanDimensions; ++d) left[d] /= inner[d];
  const unsigned room = tiers[tier] / (tier == 0 ? 1 : tiers[tier - 1]);
  for (const Extents& factors : fillings(left, room)) {
    Extents outer = inner;
    for (std::size_t d = 0; d < kPlanDimensions; ++d) outer[d] *= factors[d];
    placement.inside.push_back(outer);
    place_tier(plan, tier + 1, placement, all);
    placement.inside.pop_back();
  }
}

/// Chips whose coordinates run over all values where the dimension `varies`, the others 0.
std::vector<std::uint32_t> members(const Plan& plan, const Placement& placement,
                                   const std::array<bool, kPlanDimensions>& varies) {
  const Extents extents = degrees(plan);
  std::vector<std::uint32_t> chips;
  Extents at{};
  while (true) {
    chips.push_back(placement.chip(at));
    std::size_t d = 0;
    for (; d < kPlanDimensions; ++d) {
      if (!varies[d]) continue;
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
    if (d == kPlanDimensions) break;
  }
  std::sort(chips.begin(), chips.end());
  return chips;
}

std::vector<std::uint32_t> every(const std::vector<std::uint32_t>& chips, std::size_t stride,
                                 std::size_t count) {
  std::vector<std::uint32_t> picked;
  for (std::size_t i = 0; i < count && i * stride < chips.size(); ++i) {
    picked.push_back(chips[i * stride]);
  }
  return picked;
}

std::array<bool, kPlanDimensions> replicas(const Plan& plan) {
  return {false, plan.tensor == TensorKind::kTwoD, true, true, false};
}

unsigned count_in_tier(const Placement& placement, const Plan& plan, Group group,
                       std::size_t tier) {
  const std::vector<std::uint32_t> chips = placement.group(plan, group);
  const unsigned room =
      tier >= placement.tiers.size() ? std::numeric_limits<unsigned>::max() : placement.tiers[tier];
  return static_cast<unsigned>(
      std::count_if(chips.begin(), chips.end(), [&](std::uint32_t chip) { return chip < room; }));
}

}  // namespace

std::uint32_t Placement::chip(const Extents& coordinates) const {
  std::uint32_t chip = 0;
  Extents inner = {1, 1, 1, 1, 1};
  for (std::size_t tier = 0; tier < inside.size(); ++tier) {
    std::uint32_t stride = tier == 0 ? 1 : tiers[tier - 1];
    for (std::size_t d = 0; d < kPlanDimensions; ++d) {
      const unsigned extent = inside[tier][d] / inner[d];
      chip += coordinates[d] / inner[d] % extent * stride;
      stride *= extent;
    }
    inner = inside[tier];
  }
  return chip;
}

std::vector<std::uint32_t> Placement::group(const Plan& plan, Group group) const {
  const auto along = [&](std::size_t dimension) {
    std::array<bool, kPlanDimensions> varies{};
    varies[dimension] = true;
    return members(plan, *this, varies);
  };
  const auto stage = [&] { return members(plan, *this, {true, true, true, true, false}); };
  const std::size_t etp = plan.expert_tp();
  switch (group) {
    case Group::kTensor:
      return along(kTp);
    case Group::kTensor2:
      return along(kTp2);
    case Group::kContext:
      return along(kCp);
    case Group::kPipeline:
      return along(kPp);
    case Group::kData:
      return members(plan, *this, replicas(plan));
    case Group::kExpertTensor:
      return every(stage(), 1, etp);
    case Group::kExpert:
      return every(stage(), etp, plan.ep);
    case Group::kExpertData:
      return every(stage(), etp * plan.ep, plan.expert_dp());
    case Group::kShard: {
      const std::vector<std::uint32_t> all = members(plan, *this, replicas(plan));
      return every(all, 1, plan.shard == 0 ? all.size() : plan.shard);
    }
    case Group::kReplica: {
      const std::vector<std::uint32_t> all = members(plan, *this, replicas(plan));
      return every(all, plan.shard == 0 ? all.size() : plan.shard, all.size());
    }
  }
  return {};
}

unsigned Placement::in_tier(const Plan& plan, Group group, std::size_t tier) const {
  if (inside.size() != tiers.size() || tier >= tiers.size()) {
    return count_in_tier(*this, plan, group, tier);
  }
  // The first group holds the first chips of every sorted list: `held` of it, then every stride-th
  // is taken.
  const Extents& node = inside[tier];
  const auto held = [&](const std::array<bool, kPlanDimensions>& varies) {
    std::uint64_t chips = 1;
    for (std::size_t d = 0; d < kPlanDimensions; ++d) chips *= varies[d] ? node[d] : 1;
    return chips;
  };
  const auto taken = [](std::uint64_t chips, std::uint64_t stride, std::uint64_t most) {
    return static_cast<unsigned>(std::min((chips + stride - 1) / stride, most));
  };
  const std::uint64_t stage = held({true, true, true, true, false});
  const std::uint64_t data = held(replicas(plan)), etp = plan.expert_tp();
  const std::uint64_t shard = plan.shard == 0 ? data : plan.shard;
  switch (group) {
    case Group::kTensor:
      return node[kTp];
    case Group::kTensor2:
      return node[kTp2];
    case Group::kContext:
      return node[kCp];
    case Group::kPipeline:
      return node[kPp];
    case Group::kData:
      return static_cast<unsigned>(data);
    case Group::kExpertTensor:
      return taken(stage, 1, etp);
    case Group::kExpert:
      return taken(stage, etp, plan.ep);
    case Group::kExpertData:
      return taken(stage, etp * plan.ep, plan.expert_dp());
    case Group::kShard:
      return taken(data, 1, shard);
    case Group::kReplica:
      return taken(data, shard, data);
  }
  return 1;
}

Placement default_placement(const Plan& plan, std::span<const unsigned> tiers) {
  Placement placement{{tiers.begin(), tiers.end()}, {}};
  Extents inner = {1, 1, 1, 1, 1};
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    unsigned room = tiers[tier] / (tier == 0 ? 1 : tiers[tier - 1]);
    Extents outer = inner;
    const Extents all = degrees(plan);
    for (std::size_t d = 0; d < kPlanDimensions; ++d) {
      const unsigned left = all[d] / inner[d];
      unsigned most = std::min(left, room);
      while (left % most != 0) --most;
      outer[d] *= most;
      room /= most;
    }
    placement.inside.push_back(outer);
    inner = outer;
  }
  if (inner != degrees(plan)) placement.inside = {degrees(plan)};
  return placement;
}

std::vector<Placement> placements(const Plan& plan, std::span<const unsigned> tiers) {
  std::vector<Placement> all;
  if (tiers.empty()) return all;
  Placement placement{{tiers.begin(), tiers.end()}, {}};
  place_tier(plan, 0, placement, all);
  if (all.empty() && plan.chips() <= tiers.back()) {
    placement.inside = {degrees(plan)};
    all.push_back(placement);
  }
  return all;
}

}  // namespace flopcast
