#include "whatif/durations/activations.h"

#include <algorithm>

namespace flopcast::whatif {

using namespace replaying;

Activations::Activations(const RankModel& rank, const Program& program) : rank_(rank) {
  for (const Work& work : program.works) {
    if (work.operation && work.pass == Pass::kForward) forward_.insert(key(work));
  }
}

bool Activations::carried_by(const Work& work) const {
  if (!work.operation) return false;
  const auto same = key(work);
  switch (*work.operation) {
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kSendRecv:
      return true;
    case CollectiveOp::kAllReduce:
      return forward_.contains(same);
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return forward_.contains({CollectiveOp::kReduceScatter, same.second});
    default:
      return false;
  }
}

std::pair<CollectiveOp, std::int64_t> Activations::key(const Work& work) const {
  const std::uint32_t about = rank_.trace->events.collective[rank_.gpu[work.task].row];
  if (about == kNoDetail) return {*work.operation, 0};
  const CollectiveDetail& detail = rank_.trace->collectives[about];
  return {*work.operation, std::max(detail.in_elements, detail.out_elements)};
}

}  // namespace flopcast::whatif
