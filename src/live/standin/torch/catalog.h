// Which operators are wrapped, and what is known of each.
#pragma once

#include <optional>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// None for an operator that is left as it is: views, and what GPUs have no kernel for.
std::optional<Operator> describe(const c10::OperatorHandle& handle, c10::DispatchKey key);
/// Of GPUs: strided tensors, and sparse ones.
inline constexpr c10::DispatchKey kKeys[] = {c10::DispatchKey::CUDA, c10::DispatchKey::SparseCUDA,
                                             c10::DispatchKey::SparseCsrCUDA};

}  // namespace flopcast::plugin
