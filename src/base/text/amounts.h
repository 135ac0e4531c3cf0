// Amounts that a model gives as text: they may be any number, also one that no integer holds.
#pragma once

#include <string>

#include "flopcast/base.h"

namespace flopcast {

/// "1,234,567", rounded; "1.2e+30" beyond what can be counted.
std::string grouped_whole(double count);
/// "1.5 MB"; SI.
std::string short_bytes(Bytes bytes);

}  // namespace flopcast
