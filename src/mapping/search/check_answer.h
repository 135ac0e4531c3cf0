// What must hold of every mapping.
#pragma once

#include <optional>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

/// Why the mapping cannot be told: times that are none, a step below its bound, more work than the peak, a partition that
/// ends before its longest resource. Nothing where it holds.
std::optional<Diagnostic> check_answer(const Mapping& mapping);

}  // namespace flopcast::mapping
