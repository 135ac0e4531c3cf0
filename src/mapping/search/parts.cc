#include "flopcast/mapping/parts.h"

#include "mapping/search/layer_solver.h"
#include "mapping/sharding/group_network.h"
#include "mapping/sharding/sharding.h"

namespace flopcast {

using namespace mapping;  // the room's own names

Seconds group_pass_time(const MappingSystem& system, const MappingShape& shape,
                        Parallelism parallelism, Bytes bytes) {
  return {GroupNetwork(system, shape, parallelism, false).pass_s(bytes.value)};
}

Result<Bytes> published_sharding_bytes(const DataflowWorkload& workload) {
  MappingSystem system;  // any group will do
  system.dimensions = {{DimensionKind::kRing, 8, {50e9}, {}}};
  const MappingShape shape{{8, 1, 1}, {{8, 1, 1}}};
  const GroupNetwork group(system, shape, Parallelism::kTensor, false);
  const Result<ShardedGraph> sharded = shard_graph(workload, group, paper_model(), {});
  if (!sharded) return sharded.error();
  return Bytes{sharded->published_bytes};
}

std::optional<std::uint64_t> order_ideals(const DataflowGraph& graph, bool mix_passes,
                                          std::size_t most) {
  MappingSearch search;
  search.mix_passes = mix_passes;
  search.most_ideals = most;
  const Result<GraphPasses> passes = GraphPasses::make(graph, search);
  if (!passes || !passes->enumerated()) return std::nullopt;
  return passes->ideals();
}

}  // namespace flopcast
