// Stages, microbatches and the order in which stages run their passes.
#pragma once

#include <string>
#include <vector>

#include "flopcast/parallel/schedule.h"
#include "whatif/model/passes.h"

namespace flopcast::whatif {

struct Pipeline {
  std::uint32_t stages = 1;
  std::vector<std::uint32_t> stage;    ///< of each recorded rank
  std::vector<std::uint32_t> replica;  ///< of each recorded rank: equal numbers are one pipeline
  std::uint32_t microbatches = 1, chunks = 1;
  std::string schedule, evidence;
  bool v_shaped = false;

  /// Which part of the model a stage's chunk is.
  std::uint32_t part_of(std::uint32_t of_stage, std::uint32_t chunk) const {
    return v_shaped && chunk % 2 == 1 ? (chunk + 1) * stages - 1 - of_stage
                                      : chunk * stages + of_stage;
  }
};

/// Finds it, and writes microbatch and chunk into every pass.
Pipeline find_pipeline(const replaying::Recording& recording, const std::vector<Program>& programs,
                       const std::vector<ModelGroup>& groups, std::vector<Passes>& passes);

}  // namespace flopcast::whatif
