// Transfer times of collectives from the network model instead of the recording: the same run on
// another network, or the model put to the test.
#pragma once

#include "flopcast/network/collectives.h"
#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {

/// The operation behind PyTorch's own names ("_allgather_base", "all_to_allv",
/// "allreduce_coalesced") and the kernels'.
std::optional<CollectiveOp> operation_of(std::string_view recorded);
/// The same of a collective: sends and receives are recorded as "coalesced", and the kernel tells then.
std::optional<CollectiveOp> operation_of(std::string_view recorded, std::string_view kernel);

/// The ranks of a group as recorded, "[0, 8, 16]"; empty if the text was cut short ("...") or is
/// something else.
std::vector<std::uint32_t> group_ranks(std::string_view text);

/// All durations of a run, transfers that the model gave at the 10 % and at the 90 % point.
struct NetworkBand {
  Durations low, high;  ///< at 10 % and at 90 %
};

/// Replaces Durations::Rank::transfer of every matched collective whose operation, size and group
/// the trace tells. Chips are numbered as ranks are. Fails if the cluster has fewer chips than a
/// group needs. @param band filled in where it is wanted.
Result<NetworkUse> apply_network(const TraceSet& set, const Recording& recording,
                                 const CollectiveModel& network, Durations& durations,
                                 NetworkBand* band = nullptr);

}  // namespace flopcast::replaying
