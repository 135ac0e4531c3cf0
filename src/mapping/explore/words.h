// What limits a mapping, in words and in gains.
#pragma once

#include <string>
#include <vector>

#include "flopcast/mapping/explore.h"

namespace flopcast::mapping {

/// "62 % of a layer's time is limited by computing, 38 % by the network. Twice the link bandwidth would
/// make the step 1.31 times as fast."
std::string bottleneck_text(const Mapping& mapping, const std::vector<ExploreGain>& gains);
/// "Does not fit; twice the memory capacity would."
std::string refusal_text(const Diagnostic& refusal, const std::vector<ExploreGain>& gains);

}  // namespace flopcast::mapping
