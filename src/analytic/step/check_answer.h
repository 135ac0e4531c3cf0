// What must hold of every estimate of a step, whatever was asked.
#pragma once

#include <optional>

#include "flopcast/analytic.h"

namespace flopcast::analytic {

/// Why the estimate cannot be told: a time or an amount that cannot be, parts that do not sum to the step, more work
/// than the chips' peak. Nothing where it holds.
std::optional<Diagnostic> check_answer(const TrainingEstimate& estimate);
/// The same of a part that a search keeps.
std::optional<Diagnostic> check_answer(Seconds step, Bytes memory);

}  // namespace flopcast::analytic
