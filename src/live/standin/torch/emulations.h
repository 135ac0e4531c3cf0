// Operators that PyTorch has for GPUs alone, computed on the CPU.
#pragma once

#include <string_view>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// None for an operator that the CPU has, and for one that nobody can compute here.
/// @param name "aten::mm.dtype"
Emulation emulation_of(std::string_view name);

}  // namespace flopcast::plugin
