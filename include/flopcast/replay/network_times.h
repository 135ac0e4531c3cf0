// Transfer times of collectives from the network model instead of the recording: the same run on
// another network, or the model put to the test.
#pragma once

#include "flopcast/network/collectives.h"
#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// The operation behind PyTorch's own names ("_allgather_base", "all_to_allv",
/// "allreduce_coalesced") and the kernels'.
std::optional<CollectiveOp> operation_of(std::string_view recorded);

/// The ranks of a group as recorded, "[0, 8, 16]"; empty if the text was cut short ("...") or is
/// something else.
std::vector<std::uint32_t> group_ranks(std::string_view text);

/// Replaces Durations::Rank::transfer of every matched collective whose operation, size and group
/// the trace tells. Chips are numbered as ranks are. Fails if the cluster has fewer chips than a
/// group needs.
Result<NetworkUse> apply_network(const TraceSet& set, const Recording& recording,
                                 const CollectiveModel& network, Durations& durations);

}  // namespace flopcast::replaying
