// Kernels that no plug-in tells of: those of extensions, and what compilers made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "live/standin/values/inside.h"

namespace flopcast::live {

/// What such a kernel does when it runs: all that its arguments point to is tainted, up to the end of each valid stretch,
/// since it may write there. Empty within an operator of a plug-in, and where nothing is known of the parameters.
/// @param sizes of its parameters, in bytes
/// @param arguments an address for each; they are read now
Effect effect_of_launch(const std::vector<std::size_t>& sizes, void* const* arguments);

/// The same of a kernel of which all addresses are known that it writes to.
Effect effect_of_writes(const std::vector<std::int64_t>& addresses);

}  // namespace flopcast::live
