// Floor 2: a kernel's time as an answer to somebody: held to what no time can be.
#pragma once

#include <optional>

#include "flopcast/cost.h"

namespace flopcast {

/// Why the time cannot be told: none at all, beside its own band, below its roofline. Nothing where it holds.
std::optional<Diagnostic> check_answer(const KernelTime& answer);
/// KernelModel::time, or check_answer's error (kNoAnswer).
Result<KernelTime> checked_time(const KernelModel& model, const Kernel& kernel);

}  // namespace flopcast
