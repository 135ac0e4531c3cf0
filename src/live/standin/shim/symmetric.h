// Symmetric memory: kernels of several ranks that wait for each other by words in memory that they share.
#pragma once

#include <optional>

#include "live/standin/shim/kernels.h"

namespace flopcast::live {

/// What a launch puts on its stream instead, if the kernel does nothing but wait for those of the other ranks: PyTorch's
/// barrier. Who they are is told by where its words lie; none where they are not in memory that the run's processes share.
std::optional<Record> barrier_of(const KernelObject& kernel, void* const* arguments, void* stream);

}  // namespace flopcast::live
