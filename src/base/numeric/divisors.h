// Divisors of whole numbers: degrees of parallelism, microbatches, tiles.
#pragma once

#include <cstdint>
#include <vector>

namespace flopcast {

/// Ascending; none of a number below 1.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace flopcast
