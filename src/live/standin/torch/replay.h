// Operators that streams capture into CUDA graphs: their values are computed each time that the graph is launched.
#pragma once

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// The call's last work was captured. Its outputs are tainted until the graph is launched. Tensors are kept by their
/// addresses alone: a graph keeps the memory that it uses, and what it reuses is written again in the same order.
/// @param small as for replay()
void keep_for_replays(const Call& call, const Values& outputs, bool small);

}  // namespace flopcast::plugin
