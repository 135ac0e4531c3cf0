// Versions of software, as their makers write them.
#pragma once

#include <string_view>

namespace flopcast {

/// "2.9" < "2.27.3" < "2.27.3rc1" < ...: numbers as numbers.
bool older_version(std::string_view a, std::string_view b);

}  // namespace flopcast
