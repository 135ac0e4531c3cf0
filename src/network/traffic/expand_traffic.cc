// The phases of a collective: its schedules' rounds with the parts left out, and what has no
// messages (multicast) or no rounds (pipelined trees across nodes).
#include <algorithm>

#include "network/traffic/expand.h"

namespace flopcast::network {
namespace {

using Algorithm = CollectiveAlgorithm;
using Op = CollectiveOp;
using Message = Topology::Message;

void append(std::vector<TrafficPhase>& phases, TrafficPhase phase) {
  if (!phases.empty()) {
    TrafficPhase& last = phases.back();
    if (last.messages == phase.messages && last.ring == phase.ring) {
      last.bytes += phase.bytes;
      last.latencies += phase.latencies;
      return;
    }
  }
  phases.push_back(std::move(phase));
}

/// Round i of all runs together.
TrafficPhase phase_of(const MessagePlan& plan, std::size_t i, Bytes size, bool heterogeneous_ring) {
  const Schedule::Round& round = plan.schedule.rounds[i];
  TrafficPhase phase;
  const double part = size.value * plan.share() / plan.schedule.parts;
  phase.bytes = part * round.messages.front().count * round.repeat;
  phase.latencies = round.latencies * round.repeat;
  if (heterogeneous_ring) {
    phase.ring = plan.schedule.ranks;
    phase.latencies /= phase.ring - 1;  // counted once around
  }
  phase.messages.resize(plan.runs.size() * round.messages.size());
  Message* next = phase.messages.data();
  for (const std::vector<std::uint32_t>& chips : plan.runs) {
    for (const Schedule::Message& message : round.messages) {
      *next++ = {chips[message.src], chips[message.dst]};
    }
  }
  return phase;
}

/// Which members lie in one group of so many chips: where each group's begin, and the end. They are as many in each, or not.
std::vector<std::size_t> begins_of_groups(std::span<const std::uint32_t> members,
                                          std::uint32_t chips) {
  std::vector<std::size_t> begins = {0};
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i] / chips != members[i - 1] / chips) begins.push_back(i);
  }
  begins.push_back(members.size());
  return begins;
}

/// Leaders of the children of the outermost level, one per plane of a child, and their children's
/// members in a chain behind each.
class ChildGroups {
 public:
  ChildGroups(const GroupShape& shape, std::span<const std::uint32_t> members)
      : members_(members),
        begins_(begins_of_groups(members, shape.levels.back().child_chips)),
        planes_(shape.levels.back().planes) {}

  unsigned children() const { return static_cast<unsigned>(begins_.size() - 1); }
  unsigned planes() const { return planes_; }
  std::size_t child_size(unsigned child) const { return begins_[child + 1] - begins_[child]; }
  /// The i-th of the chain of a plane in a child; 0 is the leader.
  std::uint32_t chip(unsigned child, unsigned plane, std::size_t i) const {
    const std::size_t size = child_size(child);
    return members_[begins_[child] + (plane * (size / planes_) + i) % size];
  }

 private:
  std::span<const std::uint32_t> members_;
  std::vector<std::size_t> begins_;
  unsigned planes_;
};

/// All edges of two trees over the leaders, both ways, for every plane.
void add_leader_trees(const ChildGroups& groups, std::vector<Message>& messages) {
  const Schedule trees = schedules::double_tree(groups.children(), 2, Detail::kTraffic);
  for (unsigned plane = 0; plane < groups.planes(); ++plane) {
    for (const Schedule::Message& edge : trees.rounds[0].messages) {
      messages.push_back({groups.chip(edge.src, plane, 0), groups.chip(edge.dst, plane, 0)});
    }
  }
}

/// NCCL's tree: chains inside nodes end at a leader per NIC, leaders form two trees; everything is
/// pipelined, so that all edges are busy at once, each with half of its plane's share both ways.
std::vector<TrafficPhase> tree_across(const GroupShape& shape,
                                      std::span<const std::uint32_t> members, Bytes size) {
  const ChildGroups groups(shape, members);
  TrafficPhase phase;
  add_leader_trees(groups, phase.messages);
  const auto across = static_cast<std::uint32_t>(phase.messages.size());
  for (unsigned child = 0; child < groups.children(); ++child) {
    for (unsigned plane = 0; plane < groups.planes(); ++plane) {
      for (std::size_t i = 1; i < groups.child_size(child); ++i) {
        const std::uint32_t near = groups.chip(child, plane, i - 1);
        const std::uint32_t far = groups.chip(child, plane, i);
        // Both trees' halves share the chain: an edge twice each way.
        for (int tree = 0; tree < 2; ++tree) {
          phase.messages.push_back({near, far});
          phase.messages.push_back({far, near});
        }
      }
    }
  }
  phase.bytes = size.value / (2.0 * groups.planes());
  phase.latencies = across > 0 ? 2 * closed_form::ceil_log2(groups.children()) : 0;
  return {phase};
}

/// NVLink SHARP: every chip sends S(1 + 1/p) to its switch and gets as much; a ring of messages
/// crosses each of those links once. Across nodes the leaders' trees follow.
std::vector<TrafficPhase> multicast(const GroupShape& shape, std::span<const std::uint32_t> members,
                                    Bytes size) {
  const LevelUse& inner = shape.levels[0];
  const unsigned in_node = inner.members;
  TrafficPhase node;
  const std::vector<std::size_t> begins =
      begins_of_groups(members, inner.child_chips * inner.level->size);
  for (std::size_t group = 0; group + 1 < begins.size(); ++group) {
    const std::size_t base = begins[group], count = begins[group + 1] - base;
    for (std::size_t i = 0; i < count; ++i)
      node.messages.push_back({members[base + i], members[base + (i + 1) % count]});
  }
  node.bytes = size.value * (1 + 1.0 / in_node);
  node.latencies = 2;
  std::vector<TrafficPhase> phases = {node};
  if (shape.levels.size() > 1) {
    const ChildGroups groups(shape, members);
    TrafficPhase trees;
    add_leader_trees(groups, trees.messages);
    trees.bytes = size.value / (2.0 * groups.planes());
    trees.latencies = 2 * closed_form::ceil_log2(groups.children());
    phases.push_back(trees);
  }
  return phases;
}

}  // namespace

Result<std::vector<TrafficPhase>> plan_traffic(const GroupShape& shape,
                                               std::span<const std::uint32_t> members,
                                               const CollectiveQuery& query, Algorithm algorithm) {
  const bool reduces = query.op == Op::kAllReduce || query.op == Op::kBarrier;
  const bool across = shape.levels.size() > 1;
  if (algorithm == Algorithm::kTree && reduces && across) {
    return tree_across(shape, members, query.size);
  }
  if ((algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) && reduces) {
    return multicast(shape, members, query.size);
  }
  const Result<MessagePlan> plan =
      plan_messages(shape, members, query, algorithm, Detail::kTraffic);
  if (!plan) return plan.error();
  std::vector<TrafficPhase> phases;
  const bool ring = algorithm == Algorithm::kRing && across && query.op != Op::kAllToAll;
  for (std::size_t i = 0; i < plan->schedule.rounds.size(); ++i) {
    append(phases, phase_of(*plan, i, query.size, ring));
  }
  return phases;
}

}  // namespace flopcast::network
