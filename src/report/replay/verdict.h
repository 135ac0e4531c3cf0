// What a replay comes to, in a few sentences: what a reader acts on, before any table.
#pragma once

#include <string>
#include <vector>

#include "flopcast/report/sets.h"

namespace flopcast::report {

/// What the run is bound by, where the GPUs' time goes, who is last, what is worth most. Sentences without a full
/// stop, the first thing first; none where nothing was replayed.
std::vector<std::string> verdict_of(const SetResult& set);

}  // namespace flopcast::report
