#include "whatif/structure/transfers.h"

#include <algorithm>
#include <cmath>

#include "flopcast/replay/network_times.h"

namespace flopcast::whatif::structure {
namespace {

/// What a collective of a few bytes takes at most: NCCL needs 5 to 15 us in a node. Longer ones have
/// bytes to move, however alike all that were recorded are.
constexpr Time kMostLatency = Time::from_us(12);

}  // namespace

double ring_factor(CollectiveOp op, std::size_t ranks) {
  return bus_bandwidth_factor(op, static_cast<unsigned>(std::max<std::size_t>(ranks, 1)));
}

Transfers::Transfers(const TraceSet& set, const replaying::Recording& recording) : set_(set) {
  for (const replaying::Collective& c : recording.collectives) {
    const std::optional<CollectiveOp> op = replaying::operation_of(set.strings[c.name]);
    if (!op) continue;
    for (const replaying::CollectiveMember& m : c.members) {
      const Time transfer = recording.ranks[m.rank].gpu[m.task].end - m.latest_arrival;
      const auto [it, fresh] = least_.try_emplace(*op, transfer);
      it->second = std::min(it->second, transfer);
    }
  }
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
  const auto known = least_.find(*op);
  const double whole = static_cast<double>(typical.ps);
  const Time least = known == least_.end() ? kMostLatency : std::min(known->second, kMostLatency);
  const double latency = std::clamp(static_cast<double>(least.ps), 0.0, whole);
  const double before = ring_factor(*op, ranks_before);
  const double grown = before > 0 ? ring_factor(*op, ranks_after) / before : 1;
  // A tree's latency: one more hop with each doubling.
  const double hops = std::max(1.0, std::log2(static_cast<double>(ranks_before)));
  const double hops_after = std::max(1.0, std::log2(static_cast<double>(ranks_after)));
  return (latency * hops_after / hops + (whole - latency) * grown * bytes_factor) / whole;
}

}  // namespace flopcast::whatif::structure
