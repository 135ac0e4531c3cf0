// What it would be worth to have each part of the work done faster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/assembly.h"
#include "flopcast/replay/steps.h"

namespace flopcast::replaying {

/// What the runs are asked: all that they need besides the graph, so that the recording behind it can
/// be let go of before they take its memory.
struct SensitivityQuestion {
  Time gpu_step;                              ///< mean, as replayed
  std::vector<std::vector<StepTasks>> steps;  ///< of every rank
  std::vector<std::string> parts;             ///< names
  std::vector<std::uint32_t> of_task;         ///< into `parts`, of every task
  std::vector<std::uint32_t> present;         ///< parts that some task is of
};
/// Nothing where there is no GPU step. @param run of the assembly
std::optional<SensitivityQuestion> ask_sensitivity(const TraceSet& set, const Recording& recording,
                                                   const Assembly& assembly, const Run& run);

/// Runs the assembly once more for each part, without the tasks whose times nobody asks for: question
/// and assembly are used up. @param threads 0: all cores
SensitivityTable measure_sensitivity(SensitivityQuestion question, Assembly assembly,
                                     unsigned threads);

}  // namespace flopcast::replaying
