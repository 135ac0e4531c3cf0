// Large counts for people.
#pragma once

#include <cstdint>
#include <string>

namespace flopcast::report {

/// Parameters of a model, four digits: "125.2 M", "8.03 B", "1.008 T".
std::string parameter_count(std::int64_t count);

}  // namespace flopcast::report
