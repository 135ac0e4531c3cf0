// Which ranks communicate with each other, and what for.
#pragma once

#include <vector>

#include "whatif/model/program.h"

namespace flopcast::whatif {

/// Finds the groups of all ranks, and writes into every collective work which it belongs to.
/// Uses that need no layers are known afterwards: told by the passes in which a group communicates,
/// by its operations, and by what stands next to them.
std::vector<ModelGroup> find_groups(const TraceSet& set, const replaying::Recording& recording,
                                    std::vector<Program>& programs);

/// Whether collectives of this use are no part of a layer: which layer launches one is a matter of
/// sizes and prefetching.
constexpr bool is_apart(GroupUse use) {
  return use == GroupUse::kData || use == GroupUse::kSharded || use == GroupUse::kModel;
}

}  // namespace flopcast::whatif
