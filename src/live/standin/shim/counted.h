// What a launch of a Triton kernel does, by its program.
#pragma once

#include <optional>

#include "live/standin/shim/kernels.h"
#include "live/standin/triton/source.h"

namespace flopcast::live {

/// None where there is no program, or where the kernel's parameters are not the program's.
std::optional<triton::Told> counted_launch(const KernelObject& kernel, const LaunchSize& size,
                                           void* const* arguments);

}  // namespace flopcast::live
