// Floor 0: where text stops being JSON, for error messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace flopcast {

/// Byte (from 0) of the first error; nothing where the text is JSON.
std::optional<std::size_t> json_error_byte(std::string_view text);

}  // namespace flopcast
