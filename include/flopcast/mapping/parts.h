// Floor 5: parts of the search by themselves, for those who compare them with what others published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "flopcast/mapping.h"

namespace flopcast {

/// Reduce-scatter of `bytes` among the chips of one parallel group, or an all-gather to `bytes`;
/// without latencies.
Seconds group_pass_time(const MappingSystem& system, const MappingShape& shape,
                        Parallelism parallelism, Bytes bytes);

/// What DFModel's pass over chips minimises: full sizes of all tensors that the collectives of a layer
/// move under its cheapest sharding. It knows neither the number of chips nor the network. Errors: as
/// map_workload has them of shardings.
Result<Bytes> published_sharding_bytes(const DataflowWorkload& workload);

/// Order ideals of the graph's kernels; of those of each pass, summed, unless passes mix. Nothing
/// where a pass has more than `most`.
std::optional<std::uint64_t> order_ideals(const DataflowGraph& graph, bool mix_passes,
                                          std::size_t most);

}  // namespace flopcast
