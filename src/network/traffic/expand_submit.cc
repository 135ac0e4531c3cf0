// Levels 1 and 2: phases as macro-flows, schedules as single flows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "network/traffic/expand.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

using FlowIds = std::vector<FlowId>;

/// Submits flows, and knows the routes.
class FlowWriter {
 public:
  FlowWriter(FlowSimulator& flows, const Topology& topology, Time start)
      : flows_(flows), topology_(topology), start_(start) {}

  /// A message of its own.
  Result<FlowId> message(std::uint32_t src, std::uint32_t dst, double bytes, const FlowIds& after) {
    path_.clear();
    topology_.route(src, dst, serial_++, path_);
    uses_.clear();
    for (const LinkId link : path_) {
      const auto met = std::ranges::find(uses_, link, &LinkUse::link);
      if (met == uses_.end()) {
        uses_.push_back({link, 1});
      } else {
        ++met->weight;
      }
    }
    return submit(uses_, bytes, topology_.latency(path_), after);
  }

  /// All messages of a phase as one variable: links count how many of them cross.
  Result<FlowId> macro(const TrafficPhase& phase, const FlowIds& after) {
    const Topology::Crossings ways = topology_.crossings(phase.messages, phase.ring, serial_);
    serial_ += phase.messages.size();
    const Time once = phase.ring > 0 ? ways.around - ways.slowest : ways.slowest;
    return submit(ways.links, phase.bytes, {once.ps * phase.latencies}, after);
  }

  /// Nothing to send: complete when its predecessors are.
  Result<FlowId> nothing(const FlowIds& after) { return submit({}, 0, {}, after); }

 private:
  Result<FlowId> submit(std::span<const LinkUse> path, double bytes, Time latency,
                        const FlowIds& after) {
    FlowSpec spec;
    spec.path = path;
    spec.bytes = static_cast<std::int64_t>(std::ceil(bytes));
    spec.latency = latency;
    spec.after = after;
    return flows_.submit(spec, start_);
  }

  FlowSimulator& flows_;
  const Topology& topology_;
  Time start_;
  std::vector<LinkUse> uses_;
  std::vector<LinkId> path_;
  std::uint64_t serial_ = 0;
};

Result<CollectiveFlows> submit_phases(FlowWriter& writer, const std::vector<TrafficPhase>& phases,
                                      FlowIds after) {
  CollectiveFlows out;
  for (const TrafficPhase& phase : phases) {
    const Result<FlowId> flow = writer.macro(phase, after);
    if (!flow) return flow.error();
    out.flows.push_back(*flow);
    after = {*flow};
  }
  out.last = after;
  return out;
}

constexpr double kMostMessages = 2e7;

std::optional<Diagnostic> check_count(const MessagePlan& plan) {
  double count = 0;
  for (const Schedule::Round& round : plan.schedule.rounds) {
    count += static_cast<double>(round.messages.size()) * round.repeat;
  }
  count *= static_cast<double>(plan.runs.size());
  if (count <= kMostMessages) return std::nullopt;
  return Diagnostic{ErrorCode::kTooLarge, "expanded flows",
                    fmt::format("the collective has {:.0f} messages", count),
                    "expand it as macro-flows"};
}

/// A rank's next messages wait for those it sent and got in the last round it took part in.
class ScheduleWriter {
 public:
  /// @param chips of its ranks.
  ScheduleWriter(FlowWriter& writer, const Schedule& schedule,
                 const std::vector<std::uint32_t>& chips, Bytes share, const FlowIds& after)
      : writer_(writer),
        schedule_(schedule),
        chips_(chips),
        part_(share.value / schedule.parts),
        last_(schedule.ranks, after) {}

  std::optional<Diagnostic> write(CollectiveFlows& out) {
    for (const Schedule::Round& round : schedule_.rounds) {
      for (std::uint32_t k = 0; k < round.repeat; ++k) {
        if (auto error = write(round, out)) return error;
      }
    }
    for (FlowIds& ids : last_) out.last.insert(out.last.end(), ids.begin(), ids.end());
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> write(const Schedule::Round& round, CollectiveFlows& out) {
    std::vector<FlowIds> next(last_.size());
    for (const Schedule::Message& message : round.messages) {
      const Result<FlowId> flow = writer_.message(chips_[message.src], chips_[message.dst],
                                                  part_ * message.count, last_[message.src]);
      if (!flow) return flow.error();
      out.flows.push_back(*flow);
      next[message.src].push_back(*flow);
      next[message.dst].push_back(*flow);
    }
    for (std::size_t r = 0; r < next.size(); ++r) {
      if (!next[r].empty()) last_[r] = std::move(next[r]);
    }
    return std::nullopt;
  }

  FlowWriter& writer_;
  const Schedule& schedule_;
  const std::vector<std::uint32_t>& chips_;
  double part_;
  std::vector<FlowIds> last_;  // by rank
};

Result<CollectiveFlows> submit_messages(FlowWriter& writer, const MessagePlan& plan, Bytes size,
                                        const FlowIds& after) {
  if (auto error = check_count(plan)) return *error;
  CollectiveFlows out;
  for (const std::vector<std::uint32_t>& chips : plan.runs) {
    ScheduleWriter schedule(writer, plan.schedule, chips, size * plan.share(), after);
    if (auto error = schedule.write(out)) return *error;
  }
  std::ranges::sort(out.last);
  out.last.erase(std::unique(out.last.begin(), out.last.end()), out.last.end());
  return out;
}

std::vector<std::uint32_t> members_of(const Cluster& cluster, const CollectiveQuery& query) {
  std::vector<std::uint32_t> members = query.ranks;
  if (members.empty()) {
    members.resize(cluster.chips());
    std::iota(members.begin(), members.end(), 0U);
  }
  // Neighbours in a ring or tree are neighbours in the machine; a root and a sender stay first.
  const bool rooted = query.op == CollectiveOp::kBroadcast || query.op == CollectiveOp::kReduce ||
                      query.op == CollectiveOp::kSendRecv;
  const std::span sorted = std::span(members).subspan(rooted ? 1 : 0);
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);
  return members;
}

}  // namespace

Result<CollectiveFlows> submit_collective(FlowSimulator& flows, const Topology& topology,
                                          const Cluster& cluster, const CollectiveQuery& query,
                                          Expansion expansion, Time start,
                                          std::span<const FlowId> after) {
  const Result<GroupShape> shape = group_shape(cluster, query.ranks);
  if (!shape) return shape.error();
  FlowWriter writer(flows, topology, start);
  const FlowIds before(after.begin(), after.end());
  if (shape->ranks < 2) {
    const Result<FlowId> flow = writer.nothing(before);
    if (!flow) return flow.error();
    return CollectiveFlows{{*flow}, {*flow}};
  }
  CollectiveQuery known = query;
  if (query.op == CollectiveOp::kBarrier) known.size = {4};
  if (query.op == CollectiveOp::kSendRecv && shape->ranks != 2) {
    return Diagnostic{ErrorCode::kUsage, cluster.name,
                      fmt::format("send_recv between {} ranks", shape->ranks), "name two ranks"};
  }
  const CollectiveAlgorithm algorithm = traffic_algorithm(*shape, known);
  const std::vector<std::uint32_t> members = members_of(cluster, query);
  if (expansion == Expansion::kMacroFlow) {
    const auto phases = plan_traffic(*shape, members, known, algorithm);
    if (!phases) return phases.error();
    return submit_phases(writer, *phases, before);
  }
  const auto plan = plan_messages(*shape, members, known, algorithm, Detail::kTraffic);
  if (!plan) return plan.error();
  return submit_messages(writer, *plan, known.size, before);
}

}  // namespace flopcast
