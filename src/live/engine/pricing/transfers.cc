#include "live/engine/pricing/transfers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::live {
namespace {

/// Gathering and scattering go through one root, as reducing and broadcasting do.
CollectiveOp op_of(Collective op) {
  switch (op) {
    case Collective::kAllReduce:
      return CollectiveOp::kAllReduce;
    case Collective::kBroadcast:
    case Collective::kScatter:
      return CollectiveOp::kBroadcast;
    case Collective::kReduce:
    case Collective::kGather:
      return CollectiveOp::kReduce;
    case Collective::kAllGather:
      return CollectiveOp::kAllGather;
    case Collective::kReduceScatter:
      return CollectiveOp::kReduceScatter;
    case Collective::kAllToAll:
      return CollectiveOp::kAllToAll;
    case Collective::kSend:
    case Collective::kReceive:
      return CollectiveOp::kSendRecv;
    case Collective::kBarrier:
      return CollectiveOp::kBarrier;
  }
  return CollectiveOp::kAllReduce;
}

CollectiveQuery query_of(const Transfer& what) {
  CollectiveQuery query;
  query.op = op_of(what.op);
  query.size = Bytes{static_cast<double>(std::max<std::int64_t>(1, what.bytes))};
  for (const std::int32_t rank : what.ranks)
    query.ranks.push_back(static_cast<std::uint32_t>(rank));
  return query;
}

/// Nothing has to be sent: ranks of one, or to oneself.
bool is_local(const CollectiveQuery& query) {
  return query.ranks.size() < 2 || std::all_of(query.ranks.begin(), query.ranks.end(),
                                               [&](auto rank) { return rank == query.ranks[0]; });
}

}  // namespace

Result<Transfers> Transfers::make(const Machine& machine) {
  Result<Topology> topology = Topology::build(machine.cluster());
  if (!topology) return topology.error();
  return Transfers(machine, std::move(*topology));
}

Transfers::Transfers(Machine machine, Topology topology)
    : machine_(std::move(machine)),
      topology_(std::move(topology)),
      flows_(topology_, FlowSimulator::Options{}) {}

Time Transfers::end_of(const FlowSimulator& flows, const std::vector<FlowId>& last) {
  Time end;
  for (const FlowId flow : last) end = std::max(end, flows.query(flow).end);
  return end;
}

/// Its flows on links that nothing else uses.
Result<Time> Transfers::flows_alone(const CollectiveQuery& query) const {
  FlowSimulator simulator(topology_, FlowSimulator::Options{});
  const Result<CollectiveFlows> flows = submit_collective(simulator, topology_, machine_.cluster(),
                                                          query, Expansion::kMacroFlow, Time{});
  if (!flows) return flows.error();
  simulator.advance();
  return end_of(simulator, flows->last);
}

/// So many bytes that its flows, alone, take what the model of collectives says: that knows measured
/// curves, the flows know who else is there. Where latencies are all, links do not matter.
Result<Transfers::Scaled> Transfers::scaled(const CollectiveQuery& query) {
  const Result<CollectiveEstimate> model = machine_.transfers().estimate(query);
  if (!model) return model.error();
  CollectiveQuery twice = query;
  twice.size = Bytes{2 * query.size.value};
  const Result<Time> once = flows_alone(query), double_time = flows_alone(twice);
  if (!once) return once.error();
  if (!double_time) return double_time.error();
  Scaled scaled{on_clock(model->time), std::nullopt};
  const double sending = (*double_time - *once).seconds();
  const double latency = once->seconds() - sending;
  const bool small = sending < 0.01 * once->seconds();
  if (!small && model->time.value > latency) {
    scaled.size = Bytes{query.size.value * (model->time.value - latency) / sending};
  }
  return scaled;
}

/// A kernel that tells all others by a word in their memory that it has come: nothing of NCCL is in it.
Result<Transfers::Scaled> Transfers::signalled(const CollectiveQuery& query) const {
  Time latency;
  for (const std::uint32_t other : query.ranks) {
    if (other == query.ranks[0]) continue;
    CollectiveQuery word;
    word.op = CollectiveOp::kSendRecv;
    word.size = Bytes{sizeof(std::uint32_t)};
    word.ranks = {query.ranks[0], other};
    const Result<Time> sent = flows_alone(word);
    if (!sent) return sent.error();
    latency = std::max(latency, *sent);
  }
  return Scaled{on_clock(machine_.kernels().time(MemoryBound{}).time) + latency, std::nullopt};
}

Result<Transfers::Scaled> Transfers::remembered(const CollectiveQuery& query) {
  if (is_local(query)) return Scaled{};
  const std::string key = fmt::format("{} {} {}", static_cast<int>(query.op), query.size.value,
                                      fmt::join(query.ranks, ","));
  const auto known = scaled_.find(key);
  if (known != scaled_.end()) return known->second;
  const Result<Scaled> made =
      query.op == CollectiveOp::kBarrier ? signalled(query) : this->scaled(query);
  if (made) scaled_.emplace(key, *made);
  return made;
}

Time Transfers::alone(const Transfer& what) {
  const Result<Scaled> scaled = remembered(query_of(what));
  return scaled ? scaled->alone : Time{};
}

std::optional<Diagnostic> Transfers::begin(std::uint64_t transfer, const Transfer& what,
                                           Time start) {
  CollectiveQuery query = query_of(what);
  const Result<Scaled> known = remembered(query);
  if (!known) return known.error();
  const Scaled& scaled = *known;
  if (!scaled.size) {
    FlowSpec spec;
    spec.latency = scaled.alone;
    const Result<FlowId> flow = flows_.submit(spec, start);
    if (!flow) return flow.error();
    under_way_[transfer] = {*flow};
    return std::nullopt;
  }
  query.size = *scaled.size;
  Result<CollectiveFlows> flows =
      submit_collective(flows_, topology_, machine_.cluster(), query, Expansion::kMacroFlow, start);
  if (!flows) return flows.error();
  under_way_[transfer] = std::move(flows->last);
  for (const std::vector<std::int32_t>& ranks : what.beside) {
    query.ranks.assign(ranks.begin(), ranks.end());
    const Result<CollectiveFlows> others = submit_collective(flows_, topology_, machine_.cluster(),
                                                             query, Expansion::kMacroFlow, start);
    if (!others) return others.error();
  }
  return std::nullopt;
}

std::optional<Time> Transfers::next_end() {
  if (under_way_.empty()) return std::nullopt;
  // As far as it goes: what begins later than now, but before that, is put in between.
  flows_.advance();
  Time first = Time::max();
  for (const auto& [transfer, last] : under_way_) first = std::min(first, end_of(flows_, last));
  return first;
}

std::vector<std::pair<std::uint64_t, Time>> Transfers::advance(Time until) {
  std::vector<std::pair<std::uint64_t, Time>> ended;
  flows_.advance();
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    const Time end = end_of(flows_, at->second);
    if (end > until) {
      ++at;
      continue;
    }
    ended.emplace_back(at->first, end);
    at = under_way_.erase(at);
  }
  flows_.set_horizon(std::max(flows_.horizon(), until));
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  });
  return ended;
}

}  // namespace flopcast::live
