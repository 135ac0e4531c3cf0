// A bar for a terminal.
#pragma once

#include <string>

namespace flopcast::report {

/// `share` (0 to 1) of `width` characters, in eighths; at least an eighth where there is anything.
std::string bar(double share, unsigned width);

}  // namespace flopcast::report
