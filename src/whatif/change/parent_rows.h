// Which row of the host is around which.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast::whatif {

/// The row around each row of a trace on its track: operators and calls. kNoIndex: none.
std::vector<std::uint32_t> parent_rows(const Trace& trace);

}  // namespace flopcast::whatif
