// Every part of a run with less of it, and with none.
#pragma once

#include <vector>

#include "whatif/prepared.h"

namespace flopcast::whatif {

std::vector<WhatIfSensitivity> sensitivity(const Prepared& prepared);

/// Of each rank, its stage where the run is a pipeline; else empty.
std::vector<std::uint32_t> stages_of(const Prepared& prepared);

/// The parts of the work alone, and the ranks that are waited for made like their equals.
SensitivityTable worth(const Prepared& prepared);

}  // namespace flopcast::whatif
