// What a launch of a Triton kernel does, by its program.
#pragma once

#include <memory>
#include <optional>

#include "live/standin/shim/kernels.h"
#include "live/standin/triton/source.h"
#include "live/standin/triton/value.h"

namespace flopcast::live {

/// The tensor of a parameter that the host described; its base is 0 where nobody did.
std::shared_ptr<const triton::Descriptor> described_tensor(const void* argument,
                                                           const triton::Type& type);

/// None where there is no program, or where the kernel's parameters are not the program's.
std::optional<triton::Told> counted_launch(const KernelObject& kernel, const LaunchSize& size,
                                           void* const* arguments);

}  // namespace flopcast::live
