// Launches of Triton kernels on small tensors, executed.
#pragma once

#include "live/standin/shim/kernels.h"
#include "live/standin/triton/source.h"
#include "live/standin/values/inside.h"

namespace flopcast::live {

/// What such a launch does to bytes when it runs. If it is small, and reads only what is valid, its program is executed, and
/// what it writes is valid. Otherwise `taints` is done.
/// @param told of this launch. @param taints empty: nothing is to be done, and the program is not executed either
Effect executed_launch(const KernelObject& kernel, const LaunchSize& size, void* const* arguments,
                       const triton::Told& told, Effect taints);

}  // namespace flopcast::live
