// Every part of a run with less of it, and with none.
#pragma once

#include <vector>

#include "whatif/prepared.h"

namespace flopcast::whatif {

std::vector<WhatIfSensitivity> sensitivity(const Prepared& prepared);

/// The parts of the work alone, and the ranks that are waited for made like their equals.
SensitivityTable worth(const Prepared& prepared);

}  // namespace flopcast::whatif
