// Levels 1 and 2: phases as macro-flows, schedules as single flows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/traffic/expand.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

using FlowIds = std::vector<FlowId>;

/// Submits flows, and knows the routes.
class FlowWriter {
 public:
  FlowWriter(FlowSimulator& flows, const Topology& topology, Time start)
      : flows_(flows), topology_(topology), start_(start), weights_(topology.links().size()) {}

  /// A message of its own.
  Result<FlowId> message(std::uint32_t src, std::uint32_t dst, double bytes, const FlowIds& after) {
    clear();
    path_.clear();
    topology_.route(src, dst, serial_++, path_);
    for (const LinkId link : path_) add(link);
    return submit(bytes, topology_.latency(path_), after);
  }

  /// All messages of a phase as one variable: links count how many of them cross.
  Result<FlowId> macro(const TrafficPhase& phase, const FlowIds& after) {
    clear();
    Time slowest, ring;
    for (std::size_t i = 0; i < phase.messages.size(); ++i) {
      path_.clear();
      topology_.route(phase.messages[i].src, phase.messages[i].dst, serial_++, path_);
      for (const LinkId link : path_) add(link);
      const Time latency = topology_.latency(path_);
      slowest = std::max(slowest, latency);
      if (i < phase.ring) ring += latency;
    }
    const Time once = phase.ring > 0 ? ring - slowest : slowest;
    return submit(phase.bytes, {once.ps * phase.latencies}, after);
  }

  /// Nothing to send: complete when its predecessors are.
  Result<FlowId> nothing(const FlowIds& after) {
    clear();
    return submit(0, {}, after);
  }

 private:
  void clear() {
    for (const LinkUse& use : uses_) weights_[use.link] = 0;
    uses_.clear();
  }
  void add(LinkId link) {
    if (weights_[link]++ == 0) uses_.push_back({link, 0});
  }
  Result<FlowId> submit(double bytes, Time latency, const FlowIds& after) {
    for (LinkUse& use : uses_) use.weight = weights_[use.link];
    FlowSpec spec;
    spec.path = uses_;
    spec.bytes = static_cast<std::int64_t>(std::ceil(bytes));
    spec.latency = latency;
    spec.after = after;
    return flows_.submit(spec, start_);
  }

  FlowSimulator& flows_;
  const Topology& topology_;
  Time start_;
  std::vector<std::uint32_t> weights_;  // by link, of the flow being written
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

std::optional<Diagnostic> check_count(const std::vector<MessagePlan>& plans) {
  double count = 0;
  for (const MessagePlan& plan : plans) {
    for (const Schedule::Round& round : plan.schedule.rounds) {
      count += static_cast<double>(round.messages.size()) * round.repeat;
    }
  }
  if (count <= kMostMessages) return std::nullopt;
  return Diagnostic{ErrorCode::kTooLarge, "expanded flows",
                    fmt::format("the collective has {:.0f} messages", count),
                    "expand it as macro-flows"};
}

/// A rank's next messages wait for those it sent and got in the last round it took part in.
class ScheduleWriter {
 public:
  ScheduleWriter(FlowWriter& writer, const MessagePlan& plan, Bytes size, const FlowIds& after)
      : writer_(writer),
        plan_(plan),
        part_(size.value * plan.share / plan.schedule.parts),
        last_(plan.schedule.ranks, after) {}

  std::optional<Diagnostic> write(CollectiveFlows& out) {
    for (const Schedule::Round& round : plan_.schedule.rounds) {
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
      const Result<FlowId> flow =
          writer_.message(plan_.members[message.src], plan_.members[message.dst],
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
  const MessagePlan& plan_;
  double part_;
  std::vector<FlowIds> last_;  // by rank
};

Result<CollectiveFlows> submit_messages(FlowWriter& writer, const std::vector<MessagePlan>& plans,
                                        Bytes size, const FlowIds& after) {
  if (auto error = check_count(plans)) return *error;
  CollectiveFlows out;
  for (const MessagePlan& plan : plans) {
    ScheduleWriter schedule(writer, plan, size, after);
    if (auto error = schedule.write(out)) return *error;
  }
  std::ranges::sort(out.last);
  out.last.erase(std::unique(out.last.begin(), out.last.end()), out.last.end());
  return out;
}

std::vector<std::uint32_t> members_of(const Cluster& cluster, const CollectiveQuery& query) {
  std::vector<std::uint32_t> members = query.ranks;
  if (members.empty()) {
    for (std::uint32_t chip = 0; chip < cluster.chips(); ++chip) members.push_back(chip);
  }
  // Neighbours in a ring or tree are neighbours in the machine; a root and a sender stay first.
  const bool rooted = query.op == CollectiveOp::kBroadcast || query.op == CollectiveOp::kReduce ||
                      query.op == CollectiveOp::kSendRecv;
  std::ranges::sort(members.begin() + (rooted ? 1 : 0), members.end());
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
  const auto plans = plan_messages(*shape, members, known, algorithm, Detail::kTraffic);
  if (!plans) return plans.error();
  return submit_messages(writer, *plans, known.size, before);
}

}  // namespace flopcast
