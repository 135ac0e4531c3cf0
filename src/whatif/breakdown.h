// Where the time of a GPU step goes.
#pragma once

#include <array>
#include <vector>

#include "whatif/timed_run.h"

namespace flopcast::whatif {

/// Names of the parts, in the order in which they claim time that several run in.
inline constexpr std::array<const char*, 7> kBreakdownParts = {
    "gemm", "attention", "other_kernels", "copies", "transfer", "waiting", "idle"};
using Breakdown = std::array<Time, kBreakdownParts.size()>;

/// Of the GPU step that `judged` tells: the steps' shares of it. Adds up to it.
Breakdown break_down(const ChangedRun& run, const TimedRun& timed, const Judged& judged);

}  // namespace flopcast::whatif
