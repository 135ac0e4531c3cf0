// Which schedules an algorithm runs on a group.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "network/collective/levels.h"
#include "network/traffic/expand.h"

namespace flopcast::network {
namespace {

using Algorithm = CollectiveAlgorithm;
using Op = CollectiveOp;
using schedules::DimensionOrder;
using schedules::ScheduleDimension;

bool is_rooted(Op op) { return op == Op::kBroadcast || op == Op::kReduce; }

bool is_torus(const Level& level) {
  return level.fabric == FabricKind::kTorus || level.fabric == FabricKind::kRing;
}

/// Rings leave every child of the outermost level through all its planes: as many rings as there
/// are, each ending its way through a child at a chip of another plane.
MessagePlan rings(const GroupShape& shape, std::span<const std::uint32_t> members, Op op,
                  Detail detail) {
  const LevelUse& outer = shape.levels.back();
  const bool alike = shape.levels.size() > 1 && shape.regular;
  const std::size_t count = alike ? outer.planes : 1;
  const std::size_t child = alike ? outer.chips_per_child : shape.ranks;
  const bool both_ways = shape.levels.size() == 1 && is_torus(*outer.level) && outer.members > 2;
  MessagePlan plan;
  plan.schedule = both_ways ? schedules::bidirectional_ring(op, shape.ranks, detail)
                            : schedules::ring(op, shape.ranks, detail);
  plan.runs.resize(count);
  for (std::size_t ring = 0; ring < count; ++ring) {
    std::vector<std::uint32_t>& chips = plan.runs[ring];
    chips.resize(shape.ranks);
    const std::size_t shift = (1 + ring * (child / count)) % child;
    for (std::size_t base = 0; base < chips.size(); base += child) {
      std::ranges::rotate_copy(members.subspan(base, child),
                               members.begin() + static_cast<std::ptrdiff_t>(base + shift),
                               chips.begin() + static_cast<std::ptrdiff_t>(base));
    }
  }
  return plan;
}

std::vector<ScheduleDimension> hierarchy(const GroupShape& shape) {
  std::vector<ScheduleDimension> dimensions;
  for (const LevelUse& use : shape.levels) {
    const bool mesh = use.level->fabric == FabricKind::kFullyConnected;
    const bool around = is_torus(*use.level) && use.members > 2;
    dimensions.push_back({use.members, mesh     ? DimensionOrder::kDirect
                                       : around ? DimensionOrder::kBothWays
                                                : DimensionOrder::kRing});
  }
  return dimensions;
}

std::vector<ScheduleDimension> torus_dimensions(const Level& level) {
  std::vector<ScheduleDimension> dimensions;
  for (const unsigned extent : level.shape) {
    dimensions.push_back({extent, extent > 2 ? DimensionOrder::kBothWays : DimensionOrder::kRing});
  }
  return dimensions;
}

closed_form::Hop hop_of(const GroupShape& shape) {
  return {shape.levels[0].latency(), shape.levels[0].neighbour};
}

Schedule rooted(const GroupShape& shape, const CollectiveQuery& query, Algorithm algorithm,
                Detail detail) {
  if (algorithm == Algorithm::kTree) return schedules::binomial(query.op, shape.ranks, detail);
  if (algorithm == Algorithm::kDirect) return schedules::direct(query.op, shape.ranks, detail);
  const unsigned chunks = closed_form::best_chain_chunks(shape.ranks, query.size, hop_of(shape));
  return schedules::chain(query.op, shape.ranks, chunks, detail);
}

}  // namespace

Algorithm traffic_algorithm(const GroupShape& shape, const CollectiveQuery& query) {
  Algorithm best = query.algorithm;
  if (best == Algorithm::kAuto) {
    Seconds least{std::numeric_limits<double>::infinity()};
    for (const Algorithm algorithm : usual_algorithms(shape, query.op)) {
      if (algorithm == Algorithm::kHierarchical && !shape.regular) continue;
      const auto times = alpha_beta(shape, query.op, algorithm, query.size);
      if (times && times->total() < least) least = times->total(), best = algorithm;
    }
  }
  return best == Algorithm::kDualNetwork || best == Algorithm::kAuto ? Algorithm::kRing : best;
}

Result<MessagePlan> plan_messages(const GroupShape& shape, std::span<const std::uint32_t> members,
                                  const CollectiveQuery& query, Algorithm algorithm,
                                  Detail detail) {
  const unsigned p = shape.ranks;
  const Op op = query.op == Op::kBarrier ? Op::kAllReduce : query.op;
  std::optional<Schedule> made;
  if (op == Op::kSendRecv) {
    made = schedules::point_to_point();
  } else if (!alpha_beta(shape, op, algorithm, query.size)) {
    return Diagnostic{
        ErrorCode::kNoAnswer, std::string(name(op)),
        fmt::format("not possible by {} for {} ranks on {} nodes", name(algorithm), p, shape.nodes),
        "choose another algorithm, or auto"};
  } else if (is_rooted(op)) {
    made = rooted(shape, query, algorithm, detail);
  } else if (algorithm == Algorithm::kRing && op != Op::kAllToAll) {
    return rings(shape, members, op, detail);
  } else if (algorithm == Algorithm::kRing) {
    made = schedules::pairwise(p, detail);
  } else if (algorithm == Algorithm::kTree) {
    constexpr unsigned kChunks = 32;  // NCCL pipelines a few dozen buffers
    made = schedules::double_tree(p, kChunks, detail);
  } else if (algorithm == Algorithm::kHalvingDoubling) {
    made = schedules::halving_doubling(op, p, detail);
  } else if (algorithm == Algorithm::kDirect) {
    made = schedules::direct(op, p, detail);
  } else if (algorithm == Algorithm::kBruck) {
    made = schedules::bruck(op, p, detail);
  } else if (algorithm == Algorithm::kPat) {
    made = schedules::pat(op, p, detail);
  } else if (algorithm == Algorithm::kHierarchical) {
    made = schedules::dimension_ordered(op, hierarchy(shape), detail);
  } else if (algorithm == Algorithm::kTorus) {
    made = schedules::dimension_ordered(op, torus_dimensions(*shape.levels[0].level), detail);
  } else {
    return Diagnostic{ErrorCode::kNoAnswer, std::string(name(op)),
                      fmt::format("{} has no single messages", name(algorithm)),
                      "expand it as macro-flows"};
  }
  if (made->ranks != p) {
    return Diagnostic{
        ErrorCode::kNoAnswer, std::string(name(op)),
        fmt::format("{} needs as many of the {} ranks on every node", name(algorithm), p),
        "choose another algorithm, or auto"};
  }
  MessagePlan plan{std::move(*made), {}};
  plan.runs.emplace_back(members.begin(), members.end());
  return plan;
}

}  // namespace flopcast::network
