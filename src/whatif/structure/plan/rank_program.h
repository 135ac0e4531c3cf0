// The program of each stage of the new run: stretches in order of launch, and messages to others.
#pragma once

#include <map>

#include "whatif/structure/plan/new_plan.h"
#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

inline constexpr std::uint32_t kNoPeer = replaying::kNoIndex;

/// A stretch in the new program.
struct ProgramItem {
  std::uint32_t stretch = 0;
  std::uint32_t thread = 0;      ///< that runs it
  std::uint32_t peer = kNoPeer;  ///< of messages: the stage at the other end
  std::uint64_t message = 0;     ///< of messages: the same at both ends, unique in a step
  std::uint32_t channel = 0;     ///< of messages: those of one go through one stream
  bool waited = true;            ///< of messages: later work waits for its end
  double bytes = 1;              ///< of a bucket: over those of its stretch
  double work = 1;               ///< of the optimizer: parameters over those of its stretch
};

/// What every step of every stage does; [stage] in order.
/// @param layer_parameters of a layer over the recorded ones: what the optimizer's work goes by.
Result<std::vector<std::vector<ProgramItem>>> make_programs(const TraceModel& model,
                                                            const Library& library,
                                                            const NewPlan& plan,
                                                            double layer_parameters);

}  // namespace flopcast::whatif::structure
