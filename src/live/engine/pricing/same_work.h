// What calls of two ranks must agree in to be as much work.
#pragma once

#include <string>
#include <string_view>

#include "live/engine/pricing/operator_table.h"

namespace flopcast::live {

/// Of an operator whose work hangs on what its tensors hold, as attention's does on the lengths of its sequences: its text without that,
/// and its floating-point operations and bytes. Of any other the signature.
std::string work_text(std::string_view signature, const OperatorTable& table);

}  // namespace flopcast::live
