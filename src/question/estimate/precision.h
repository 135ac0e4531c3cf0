// Whether a chip can compute what a plan asks of it.
#pragma once

#include <optional>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/workload/operators.h"

namespace flopcast::question {

/// A chip that does not multiply in the plan's 16, 8 or 4 bits; kUsage, with the precisions it has.
std::optional<Diagnostic> precision_problem(Precision precision, const Chip& chip);

}  // namespace flopcast::question
