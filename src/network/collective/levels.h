// Floor 2, private: level 0 of the network. Textbook times (closed_form.h) over the levels that a
// collective uses, split by level; and what NCCL's own model says of the same group.
#pragma once

#include <optional>
#include <vector>

#include "network/collective/nccl_tuning.h"
#include "network/collective/shape.h"

namespace flopcast::network {

struct LevelTime {
  std::size_t level = 0;  ///< of GroupShape::levels
  Seconds latency, transfer;
};
struct LevelTimes {
  std::vector<LevelTime> parts;
  Seconds total() const;
};

/// Nothing where the algorithm does not do the operation, or not on such a group.
std::optional<LevelTimes> alpha_beta(const GroupShape& shape, CollectiveOp op,
                                     CollectiveAlgorithm algorithm, Bytes size);

/// The algorithms to choose from for kAuto: those NCCL has, rings across nodes costed as
/// kDualNetwork, rings over a full mesh as kDirect; on tori dimension by dimension.
std::vector<CollectiveAlgorithm> usual_algorithms(const GroupShape& shape, CollectiveOp op);

/// RCCL and the libraries of others are told by textbook forms.
bool runs_nccl(const Cluster& cluster);

/// What NCCL's topology search finds for the group.
NcclGraph nccl_graph(const Cluster& cluster, const GroupShape& shape);

}  // namespace flopcast::network
