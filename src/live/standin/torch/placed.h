// Operators that put numbers into some elements of their first argument and leave all others as they were: of memory with
// nothing in it, those elements alone are known afterwards.
#pragma once

#include <string_view>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// The argument that has the numbers; -1 for an operator of another kind. @param name "aten::index_copy_"
int placed_argument(std::string_view name);

/// Whether all that this call reads is valid but what it leaves as it was. Not where numbers are added to what is there.
bool only_places(const Call& call);

/// Marks what the call wrote as valid. @param arguments of the call, as the CPU sees them
void mark_placed(const Call& call, const Values& arguments);

}  // namespace flopcast::plugin
