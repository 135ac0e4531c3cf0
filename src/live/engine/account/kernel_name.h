// Names of kernels as people read them, and as profilers write them.
#pragma once

#include <string>
#include <string_view>

namespace flopcast::live {

/// The C++ name where it is the compiler's form of one, else as it is.
std::string kernel_name(std::string_view name);

}  // namespace flopcast::live
