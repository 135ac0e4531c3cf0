// Arguments of a launch that the engine's table of operators asks for by name (wire/named_arguments.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::live {

struct NamedArgument {
  std::string name;
  std::size_t index = 0, offset = 0, bytes = 0;
  bool points = false;
};

/// Those of the first pattern that fits the kernel's name; none: nobody asks.
/// @param text what the engine said
std::vector<NamedArgument> named_arguments(std::string_view kernel, std::string_view text);

/// "told KERNEL rows=8192 cols=4096". A pointer is told as the bytes behind it, to the end of its allocation.
std::string told_launch(std::string_view kernel, const std::vector<NamedArgument>& named,
                        void* const* arguments);

}  // namespace flopcast::live
