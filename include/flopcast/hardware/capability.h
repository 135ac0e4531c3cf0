// Floor 1: what programs of CUDA may count on of a chip.
#pragma once

#include <optional>

#include "flopcast/hardware.h"

namespace flopcast {

/// CUDA's compute capability: the chip's own, or that of its architecture; none: it has none, or nobody says.
std::optional<double> compute_capability(const Chip& chip);

}  // namespace flopcast
