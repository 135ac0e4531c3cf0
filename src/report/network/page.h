// The page of `flopcast net time` and `net run`.
#pragma once

#include <string>
#include <string_view>

namespace flopcast::report {

/// @param json what web/network.js draws
std::string network_page(std::string_view title, std::string_view json);

}  // namespace flopcast::report
