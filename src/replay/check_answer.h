// What must hold of every replay.
#pragma once

#include <optional>

#include "flopcast/replay.h"

namespace flopcast::replaying {

/// Why the replay cannot be told: steps that end before they begin, or take longer than the clock holds. Nothing where it
/// holds.
std::optional<Diagnostic> check_answer(const Replay& replay);

}  // namespace flopcast::replaying
