// The rank that a step would be shorter without.
#pragma once

#include "whatif/change/change.h"
#include "whatif/change/changed_run.h"
#include "whatif/durations/straggler.h"
#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// A rank made like its equals, and what comes of it.
struct LikeEquals {
  std::uint32_t rank = 0;  ///< index into the recording's ranks
  Levelled levelled;       ///< equals is 0: it has none, and nothing below is
  ChangedRun run;
  std::optional<TimedRun> timed;  ///< nothing where that run cannot finish
};
LikeEquals like_equals(const ChangedRun& run, std::uint32_t rank);
/// Of the ranks that are slower than others, the one that the step, and the run as a whole, gains most of; nothing
/// where neither gains.
std::optional<LikeEquals> find_straggler(const ChangedRun& run);

/// The rank that is named, or the one of which the step gains most, does what it does in the time of the median of
/// its equals. Where no rank is named and the step gains of none, nothing changes and a note says so.
std::optional<Diagnostic> remove_straggler(ChangedRun& run, const Change& change,
                                           const RemoveStraggler& asked);

}  // namespace flopcast::whatif
