// Kernels that a graph captures within an operator: to be told to whoever knows that operator (operators/).
#pragma once

#include "live/standin/shim/stream.h"

namespace flopcast::live {

/// This thread's innermost operator, if it is in one, gives the kernel its signature when it ends: the work lives until then.
void operator_captured(Work& work);

}  // namespace flopcast::live
