#include "whatif/structure/plan/transfers.h"

#include <algorithm>
#include <cmath>

#include "flopcast/replay/network_times.h"

namespace flopcast::whatif::structure {
namespace {

/// What a collective of a few bytes takes: NCCL's own constants for rings over NVLink with its LL
/// protocol (src/graph/tuning.cc: 6.6 us, and 0.6 us a step), twice around the ranks of a node, and
/// up and down a tree of nodes. Longer ones have bytes to move, however alike all that were recorded
/// are.
constexpr double kBaseUs = 6.6;
constexpr double kStepUs = 0.6;
constexpr double kRanksOfNode = 8;

double latency_ps(std::size_t ranks) {
  const double in_node = std::min(static_cast<double>(ranks), kRanksOfNode);
  const double nodes = std::max(1.0, static_cast<double>(ranks) / kRanksOfNode);
  return 1e6 * (kBaseUs + kStepUs * 2 * (in_node - 1 + std::log2(nodes)));
}

}  // namespace

double ring_factor(CollectiveOp op, std::size_t ranks) {
  return bus_bandwidth_factor(op, static_cast<unsigned>(std::max<std::size_t>(ranks, 1)));
}

std::string_view Transfers::operation(const replaying::Recording& recording, RowRef row) const {
  const Trace& trace = *recording.ranks[row.rank].trace;
  const std::uint32_t detail = trace.events.collective[row.row];
  const std::uint32_t name = detail == kNoDetail ? 0 : trace.collectives[detail].name;
  return set_.strings[name != 0 ? name : trace.events.name[row.row]];
}

double Transfers::ratio(std::string_view operation, Time typical, std::size_t ranks_before,
                        double bytes_factor, std::size_t ranks_after) const {
  const std::optional<CollectiveOp> op = replaying::operation_of(operation);
  if (!op || typical <= Time{} || (ranks_before == ranks_after && bytes_factor == 1)) return 1;
  const double whole = static_cast<double>(typical.ps);
  const double latency = std::min(latency_ps(ranks_before), whole);
  const double latency_after = latency * latency_ps(ranks_after) / latency_ps(ranks_before);
  const double before = ring_factor(*op, ranks_before);
  const double grown = before > 0 ? ring_factor(*op, ranks_after) / before : 1;
  return (latency_after + (whole - latency) * grown * bytes_factor) / whole;
}

}  // namespace flopcast::whatif::structure
