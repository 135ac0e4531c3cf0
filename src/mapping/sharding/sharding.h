// Floor 5: how every kernel is divided among the chips of a tensor-parallel group, and so how every
// tensor lies on them.
//
// A kernel divided along m leaves features split, along n tokens; along k every chip holds a part of
// each sum, which an all-reduce makes whole everywhere (or a reduce-scatter split). A reader that
// needs another layout pays a conversion: split to whole an all-gather, split one way to split the
// other an all-to-all, whole to anything nothing. Kernels with heads (outer > 1) are divided by
// heads; a dimension of size 1 and one that tiles cut cannot be; weights are never replicated.
// Between layers, what the last kernel leaves must suit the first kernels of the next layer.
// That is a labelling problem on a graph of small width, solved by bucket elimination: exact.
// Source: DFModel section III, inter_chip; there in bytes, here in time on the network
// (MappingModel::sharding_by_time), ties by conversions (DRAM bytes) and then by FLOP.
#pragma once

#include <vector>

#include "mapping/sharding/group_network.h"

namespace flopcast::mapping {

struct KernelShare {
  std::int64_t outer = 1, m = 1, n = 1, k = 0;  ///< of one chip, rounded up
  double weight = 1;                            ///< of its weights
  Flops work;
};
KernelShare kernel_share(const DataflowKernel& kernel, Sharding sharding, unsigned chips);

/// Of what a kernel computes, all chips together.
double output_bytes(const DataflowKernel& kernel, double word);

/// What one chip of the group sends and waits for.
struct ShardedKernel {
  Sharding sharding = Sharding::kNone;
  double network_s = 0;   ///< sums it completes and conversions of what it writes
  double wire_bytes = 0;  ///< sent for that
};
struct ShardedTensor {
  Layout layout = Layout::kReplicated;  ///< as its producer leaves it
  double share = 1;                     ///< of its bytes that a chip holds
};
struct ShardedGraph {
  std::vector<ShardedKernel> kernels;
  std::vector<ShardedTensor> tensors;
  double published_bytes = 0;  ///< DFModel's objective: full sizes of all that is moved
};

/// The cheapest sharding. Errors: kNoAnswer where the graph is too entangled for tables; kUsage:
/// pins that name no kernel, or a division it cannot have.
Result<ShardedGraph> shard_graph(const DataflowWorkload& workload, const GroupNetwork& group,
                                 const MappingModel& model, const std::vector<ShardingPin>& pins);

}  // namespace flopcast::mapping
