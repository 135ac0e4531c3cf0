// From the work of a step to an execution graph.
#pragma once

#include <vector>

#include "flopcast/analytic/graph.h"

namespace flopcast::analytic {

/// Streams of a chip, in the order of its processors.
enum Stream : std::int32_t { kCompute, kActivations, kGradients, kData };
inline constexpr int kStreams = 4;

struct Expanded {
  Graph graph;
  StringTable names;
  std::vector<StepTask> tasks;
};
/// The work must be sound: schedule_problem finds nothing, a time for every stage and chip.
Expanded expand(const StepWork& work);

}  // namespace flopcast::analytic
