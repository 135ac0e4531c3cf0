// Operations of Triton's programs that put elements in other places.
#pragma once

#include <vector>

#include "live/standin/triton/elementwise.h"

namespace flopcast::live::triton {

/// Every `step`-th slice along a dimension, from `first` on.
Array slices(const Array& of, std::size_t axis, std::int64_t first, std::int64_t step,
             std::int64_t count);
/// Those slices are replaced.
void put_slices(Array& into, const Array& values, std::size_t axis, std::int64_t first,
                std::int64_t step);
/// A dimension of one is left out.
Array without_axis(Array of, std::size_t axis);

/// @return one for each result; none: it is no such operation
std::vector<Array> arranged_elements(const Operation& op, const std::vector<const Array*>& in);

}  // namespace flopcast::live::triton
