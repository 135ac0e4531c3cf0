// A program cut into passes: the forward of one microbatch, its backward, what stands between.
#pragma once

#include <vector>

#include "whatif/model/program.h"

namespace flopcast::whatif {

/// A stretch of works that belong together, in launch order, all of one thread.
struct Stretch {
  enum class Sort : std::uint8_t { kPass, kExchange, kRest };
  Sort sort = Sort::kRest;
  Pass pass = Pass::kOther;
  std::uint32_t step = 0;
  std::uint32_t thread = replaying::kNoIndex;
  std::vector<std::uint32_t> works;  ///< indices into Program::works
  /// Of passes.
  std::uint32_t microbatch = replaying::kNoIndex;
  std::uint32_t chunk = 0;
  std::uint32_t forward =
      replaying::kNoIndex;  ///< of a backward: its forward, index into stretches
};

/// A collective that belongs to no stretch (is_apart).
struct Rider {
  std::uint32_t work = 0;                   ///< index into Program::works
  std::uint32_t stretch = 0, position = 0;  ///< launched in this stretch after so many works
  bool for_next = false;  ///< what is launched next needs it: parameters that are gathered
};

struct Passes {
  std::vector<Stretch> stretches;  ///< in launch order
  std::vector<Rider> riders;
};

Passes cut_passes(const replaying::RankModel& rank, const Program& program,
                  const std::vector<ModelGroup>& groups);

}  // namespace flopcast::whatif
