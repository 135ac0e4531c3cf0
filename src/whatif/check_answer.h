// What must hold of every answer to a what-if.
#pragma once

#include <optional>

#include "flopcast/whatif.h"

namespace flopcast::whatif {

/// Why the answer cannot be told: times that are none, parts that do not sum to their step, a band beside its answer, more
/// work than the peak. Nothing where it holds, or is refused.
std::optional<Diagnostic> check_answer(const WhatIfAnswer& answer);

}  // namespace flopcast::whatif
