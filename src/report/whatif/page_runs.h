// The two timelines of a what-if's page: one step of both runs on one axis, few ranks of each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flopcast/report/whatif.h"

namespace flopcast::report {

/// A step in one run: from the last GPU work of the step before to the last of this one, of all
/// ranks together; host times where the recording has no GPU.
struct DrawnStep {
  std::string name;
  Time from, to;
};
/// The step whose length, the mean over ranks, is nearest to `length`; among several the first.
DrawnStep drawn_step(const Replay& replay, Time length);

/// At most `most` of `count` ranks, first and last among them, evenly spaced.
std::vector<std::size_t> drawn_ranks(std::size_t count, std::size_t most);

/// The document "rows" of the page. docs of the packing: report/replay/page_rows.h. Where the runs
/// have the same rows, each is there once with both its times; else every rank has the rows of the
/// run before, and under "after" its own of the run after.
std::string drawn_runs(const std::pair<WhatIfRun, WhatIfRun>& runs, const WhatIfAnswer& answer);

}  // namespace flopcast::report
