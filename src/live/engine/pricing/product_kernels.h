// Operators whose kernels multiply: attention, convolution, the products of experts.
#pragma once

#include <optional>

#include "flopcast/cost.h"
#include "live/engine/pricing/operator_call.h"

namespace flopcast::live {

/// None: the kernel is one that prepares or finishes the work, or the tensors are not those of such an operator.
std::optional<Kernel> attention_kernel(const OperatorCall& call, bool backward);
std::optional<Kernel> convolution_kernel(const OperatorCall& call, bool backward);
std::optional<Kernel> grouped_kernel(const OperatorCall& call);

/// Whether a kernel does the attention itself, rather than prepare or combine.
bool does_attention(std::string_view kernel);

/// Whether a flash-attention kernel's name says that tokens see only earlier ones; none if it does not say.
std::optional<bool> causal_by_name(std::string_view kernel);

}  // namespace flopcast::live
