// What must hold of every run of a fleet.
#pragma once

#include <optional>

#include "flopcast/serving/fleet.h"

namespace flopcast::serving {

/// Why the run cannot be told: requests that are answered before they are sent, percentiles that fall, rates that are
/// no numbers, more answers than the chips can multiply. Nothing where it holds.
std::optional<Diagnostic> check_answer(const FleetRun& run, const Fleet& fleet);

}  // namespace flopcast::serving
