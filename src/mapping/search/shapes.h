// Floor 5: which chips of the network's dimensions each parallelism takes.
#pragma once

#include <vector>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

/// Every shape the search allows, in a fixed order: each dimension whole to one parallelism, or cut
/// into factors where `split_dimensions`. Errors (kUsage): factors that do not multiply to a
/// dimension's size; degrees no shape has.
Result<std::vector<MappingShape>> all_shapes(const MappingSystem& system,
                                             const MappingSearch& search);

/// The shortest tile of every number of tiles that `tokens` can be cut into, ascending.
std::vector<std::int64_t> distinct_tiles(std::int64_t tokens);

}  // namespace flopcast::mapping
