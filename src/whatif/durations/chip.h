// Kernels on another chip.
#pragma once

#include <optional>
#include <string_view>

#include "flopcast/hardware.h"
#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// Every kernel by the ratio of its class between the two chips. Communication, copies to and from
/// the host, and the host itself stay: another machine's are not known.
std::optional<Diagnostic> move_to_chip(ChangedRun& run, const Change& change, const OnChip& on);

/// The catalogue's chip that a profiler names so ("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X
/// VF"): by name or alias, or by the longest alias that the text begins with.
std::optional<Chip> chip_of_device(std::string_view device, const Catalog& catalog);

}  // namespace flopcast::whatif
