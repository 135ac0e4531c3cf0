#include "network/forecast/check_answer.h"

#include "base/numeric/answer_check.h"

namespace flopcast::network {
namespace {

/// Bytes that some rank must send or receive, at least, however the others help: in-network reduction leaves one copy.
double least_bytes(const CollectiveQuery& query, unsigned ranks) {
  switch (query.op) {
    case CollectiveOp::kBarrier:
      return 0;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
    case CollectiveOp::kSendRecv:
      return query.size.value;
    default:
      return query.size.value * (ranks - 1) / ranks;
  }
}

/// All that leaves a chip at once: over every level, as if all ports of a node were its own.
double most_bandwidth(const Cluster& cluster) {
  double all = 0;
  for (const Level& level : cluster.levels) all += level.child_bandwidth().value;
  return all;
}

template <typename Answer>
void check_times(AnswerCheck& check, const Answer& answer, const CollectiveQuery& query,
                 const Cluster& cluster, unsigned ranks) {
  check.band("time", answer.low, answer.time, answer.high);
  if (ranks < 2) return;
  // What rests on measurements may know of more than the catalogue has: boxes have links that their makers do not list.
  const double slack = answer.basis == Basis::kAssumed ? 1 : 0.5;
  check.at_least("time", answer.time.value, "its bytes over the bandwidth of all links of a chip",
                 slack * least_bytes(query, ranks) / most_bandwidth(cluster));
}

}  // namespace

std::optional<Diagnostic> check_answer(const CollectiveTime& answer, const CollectiveQuery& query,
                                       const Cluster& cluster, unsigned ranks) {
  AnswerCheck check(name(query.op));
  check_times(check, answer, query, cluster, ranks);
  for (const CollectiveTime::Part& part : answer.parts) {
    check.time("latency", part.latency);
    check.time("transfer", part.transfer);
  }
  for (const CollectiveTime::Candidate& candidate : answer.candidates) {
    check.time("a candidate's time", candidate.time);
  }
  return check.problem();
}

std::optional<Diagnostic> check_answer(const CollectiveEstimate& answer,
                                       const CollectiveQuery& query, const Cluster& cluster,
                                       unsigned ranks) {
  AnswerCheck check(name(query.op));
  check_times(check, answer, query, cluster, ranks);
  return check.problem();
}

}  // namespace flopcast::network
