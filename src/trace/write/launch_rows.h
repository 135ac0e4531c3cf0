// Which host call launched a row of GPU work: the one that carries the same correlation.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast::trace {

/// By row: the launching row of GPU work, kNoDetail for any other row and where no call is known.
/// Of several calls with one correlation the earliest counts; a graph launch has many rows.
std::vector<std::uint32_t> launch_rows(const Events& events);

}  // namespace flopcast::trace
