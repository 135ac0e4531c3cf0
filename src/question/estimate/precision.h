// Whether a chip can compute what a plan asks of it.
#pragma once

#include <optional>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/workload/operators.h"

namespace flopcast::question {

/// A chip that does not multiply in what the plan asks for; kUsage, with the precisions it has.
std::optional<Diagnostic> precision_problem(Precision precision, const Chip& chip);

}  // namespace flopcast::question
