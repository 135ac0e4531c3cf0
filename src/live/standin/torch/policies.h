// What is assumed of tainted tensors where a program has to go on with something: numbers are finite, half of a mask is
// set, all elements are different, and scores choose evenly among what there is to choose from.
#pragma once

#include <string_view>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// None for an operator whose outputs are tainted as its inputs are. @param name "aten::topk"
Policy policy_of(std::string_view name);
/// Whether the shape of what this operator returns depends on values.
bool shape_by_data(std::string_view name);

}  // namespace flopcast::plugin
