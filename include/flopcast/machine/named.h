// Floor 3: a machine by the line that names it.
#pragma once

#include <string>

#include "flopcast/machine.h"

namespace flopcast {

/// One chip of the catalogue, or, where the line goes on behind a comma (numbers that are other, fits), a cluster of it.
/// Errors: those of Catalog::chip, Catalog::cluster and Machine::make.
Result<Machine> named_chip(const std::string& line, const Catalog& catalog,
                           const MachineOptions& options = {});

}  // namespace flopcast
