// A plan in one line.
#pragma once

#include <string>

#include "flopcast/parallel.h"

namespace flopcast::report {

/// "tp 8, pp 4, dp 16, vpp 2, micro-batch 1, ZeRO 1, sequence parallel".
std::string plan_words(const Plan& plan);

}  // namespace flopcast::report
