#include "flopcast/replay/network_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

#include "base/numeric/clock.h"
#include "flopcast/network/traffic.h"

namespace flopcast::replaying {

std::vector<std::uint32_t> group_ranks(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  const Result<std::vector<std::uint32_t>> ranks = parse_ranks(text.substr(1, text.size() - 2));
  return ranks ? *ranks : std::vector<std::uint32_t>();
}

namespace {

class Substitution {
 public:
  Substitution(const TraceSet& set, const Recording& recording, const CollectiveModel& network,
               Durations& durations, NetworkBand* band)
      : set_(set), rec_(recording), network_(network), durations_(durations), band_(band) {}

  std::optional<Diagnostic> run() {
    for (const Collective& c : rec_.collectives) {
      if (auto problem = replace(c)) return problem;
    }
    return std::nullopt;
  }

  NetworkUse take() {
    NetworkUse use;
    for (auto& [name, operation] : operations_) use.operations.push_back(std::move(operation));
    std::sort(use.operations.begin(), use.operations.end(), [](const auto& a, const auto& b) {
      return std::tuple(b.recorded, a.name) < std::tuple(a.recorded, b.name);
    });
    return use;
  }

 private:
  const RankModel& rank(const CollectiveMember& m) const { return rec_.ranks[m.rank]; }

  const CollectiveDetail* detail(const Collective& c) const {
    const CollectiveMember& m = c.members.front();
    const Events& events = rank(m).trace->events;
    const std::uint32_t i = events.collective[rank(m).gpu[m.task].row];
    return i == kNoDetail ? nullptr : &rank(m).trace->collectives[i];
  }

  /// The whole group where the trace names it, else the ranks that were recorded.
  std::vector<std::uint32_t> group(const Collective& c) const {
    std::vector<std::uint32_t> ranks;
    if (const CollectiveDetail* d = detail(c)) ranks = group_ranks(set_.strings[d->group_ranks]);
    if (ranks.size() < c.members.size()) {
      ranks.clear();
      for (const CollectiveMember& m : c.members) {
        ranks.push_back(static_cast<std::uint32_t>(std::max(rank(m).rank, 0)));
      }
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  std::optional<Diagnostic> replace(const Collective& c) {
    const std::string name(set_.strings[c.name]);
    const std::optional<CollectiveOp> op = operation_of(name);
    NetworkUse::Operation& operation = operations_[op ? std::string(flopcast::name(*op)) : name];
    operation.name = op ? std::string(flopcast::name(*op)) : name;
    ++operation.collectives;
    if (!op || c.bytes <= 0) {
      ++operation.kept;
      operation.kept_because = op ? "size unknown" : "operation unknown";
      return std::nullopt;
    }
    const Result<Answer> answer = ask(*op, c);
    if (!answer) return answer.error();
    operation.source = answer->source;
    for (const CollectiveMember& m : c.members) {
      Time& transfer = durations_.ranks[m.rank].transfer[m.task];
      operation.recorded += transfer;
      transfer = answer->time;
      operation.modelled += transfer;
      if (band_ == nullptr) continue;
      band_->low.ranks[m.rank].transfer[m.task] = answer->low;
      band_->high.ranks[m.rank].transfer[m.task] = answer->high;
    }
    return std::nullopt;
  }

  struct Answer {
    Time time, low, high;
    std::string source;
  };
  /// Runs hold the same few collectives thousands of times: each is asked for once.
  Result<Answer> ask(CollectiveOp op, const Collective& c) {
    const auto key = std::tuple(op, c.bytes, group(c));
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    CollectiveQuery query;
    query.op = op;
    query.size = Bytes{static_cast<double>(c.bytes)};
    query.ranks = std::get<2>(key);
    const Result<CollectiveEstimate> time = network_.estimate(query);
    if (!time) return time.error();
    const Answer answer{on_clock(time->time), on_clock(time->low), on_clock(time->high),
                        fmt::format("{}: {}", name(time->basis), time->source)};
    answers_.emplace(key, answer);
    return answer;
  }

  const TraceSet& set_;
  const Recording& rec_;
  const CollectiveModel& network_;
  Durations& durations_;
  NetworkBand* band_;
  std::map<std::string, NetworkUse::Operation> operations_;
  std::map<std::tuple<CollectiveOp, std::int64_t, std::vector<std::uint32_t>>, Answer> answers_;
};

}  // namespace

std::optional<CollectiveOp> operation_of(std::string_view recorded, std::string_view kernel) {
  const std::optional<CollectiveOp> operation = operation_of(recorded);
  return operation ? operation : operation_of(kernel);
}

std::optional<CollectiveOp> operation_of(std::string_view recorded) {
  constexpr std::pair<std::string_view, CollectiveOp> kOperations[] = {
      {"allreduce", CollectiveOp::kAllReduce},
      {"allgather", CollectiveOp::kAllGather},
      {"reducescatter", CollectiveOp::kReduceScatter},
      {"alltoall", CollectiveOp::kAllToAll},
      {"broadcast", CollectiveOp::kBroadcast},
      {"sendrecv", CollectiveOp::kSendRecv},
      {"reduce", CollectiveOp::kReduce},
      {"send", CollectiveOp::kSendRecv},
      {"recv", CollectiveOp::kSendRecv},
      {"barrier", CollectiveOp::kBarrier}};
  std::string plain;
  for (const char c : recorded) {
    if (c != '_' && c != ' ')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const auto& [part, op] : kOperations) {
    if (plain.find(part) != std::string::npos) return op;
  }
  return std::nullopt;
}

Result<NetworkUse> apply_network(const TraceSet& set, const Recording& recording,
                                 const CollectiveModel& network, Durations& durations,
                                 NetworkBand* band) {
  if (band != nullptr) band->low = band->high = durations;
  Substitution substitution(set, recording, network, durations, band);
  if (const auto problem = substitution.run()) return *problem;
  return substitution.take();
}

}  // namespace flopcast::replaying
