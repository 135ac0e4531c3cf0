// Kernels of which only the name and the grid are known, outside of any operator: what can be told from that.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "flopcast/cost.h"

namespace flopcast::live {

/// By the names of ATen's templates (mangled, as programs register them) and of Inductor's kernels. None: an
/// unknown one. @param threads of the whole grid
std::optional<MemoryBound> named_kernel(std::string_view name, std::uint64_t threads);

}  // namespace flopcast::live
