// Every part of a run with less of it, and with none.
#pragma once

#include <vector>

#include "whatif/prepared.h"

namespace flopcast::whatif {

Result<std::vector<WhatIfSensitivity>> sensitivity(const Prepared& prepared);

}  // namespace flopcast::whatif
