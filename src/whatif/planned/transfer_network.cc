#include "whatif/planned/transfer_network.h"

#include "whatif/planned/tails.h"

namespace flopcast::whatif::planned {

Result<TransferNetwork> TransferNetwork::of(const std::string& name) {
  const Catalog& catalog = Catalog::builtin();
  const Result<Cluster> cluster = catalog.cluster(name);
  if (!cluster) return cluster.error();
  Result<Machine> machine =
      Machine::make(*cluster, catalog, with_uses({FitKind::kNetwork}, "a network of what-ifs"));
  if (!machine) return machine.error();
  return TransferNetwork(std::move(*machine));
}

/// 0 where the cluster has no room for the group.
double TransferNetwork::seconds(CollectiveOp op, double bytes, std::uint32_t ranks,
                                std::uint32_t stride) const {
  CollectiveQuery query;
  query.op = op;
  query.size = Bytes{bytes};
  for (std::uint32_t i = 0; i < ranks; ++i) query.ranks.push_back(i * stride);
  const Result<CollectiveEstimate> time = machine_.transfers().estimate(query);
  return time ? time->time.value : 0;
}

double TransferNetwork::ratio(const WholeTransfer& recorded, double bytes, std::uint32_t ranks,
                              std::uint32_t stride) const {
  if (ranks <= 1) return 0;
  if (ranks == recorded.ranks && bytes == recorded.bytes) return 1;
  const double before = seconds(recorded.op, recorded.bytes, recorded.ranks, stride);
  const double after = seconds(recorded.op, bytes, ranks, stride);
  if (before <= 0 || after <= 0) return ring_ratio(recorded, bytes, ranks);
  return after / before;
}

}  // namespace flopcast::whatif::planned
