// Execution traces held in memory: for the file reader, tests and fuzzing.
#pragma once

#include <string_view>

#include "flopcast/trace/io.h"

namespace flopcast::trace {

/// @param bytes unpacked; @param path only named in messages, and for the rank where no field has
/// it.
Result<ExecutionTrace> parse_execution_trace(std::string_view bytes, std::string_view path,
                                             StringTable& strings);

/// Python's repr of nested lists ("['Tensor(float)', None]") as JSON text: Chakra files hold it.
/// Text that is not of this kind comes back as a JSON string.
std::string json_from_python_repr(std::string_view text);

}  // namespace flopcast::trace
