// Floor 4: runs of a graph of which only the times are wanted, as when one graph is run again and again.
#pragma once

#include <optional>
#include <vector>

#include "flopcast/engine.h"

namespace flopcast {

/// As simulate(), but Run::cause stays empty. Nothing where the run cannot finish.
std::optional<Run> run_times(const Graph& graph, const TimesInUse& times,
                             const std::vector<Time>& release);

}  // namespace flopcast
