// Which collectives carry activations, and which weights or their gradients.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "whatif/model/program.h"

namespace flopcast::whatif {

/// Told by pass and size, on one rank.
class Activations {
 public:
  Activations(const replaying::RankModel& rank, const Program& program);

  /// Exchanges between experts and between stages do. All-reduces do if the forward has one of that
  /// size: tensor parallelism has as many in the backward. Gathers and scatters do if the forward
  /// scatters, because weights are only ever gathered there.
  bool carried_by(const Work& work) const;

 private:
  std::pair<CollectiveOp, std::int64_t> key(const Work& work) const;

  const replaying::RankModel& rank_;
  std::set<std::pair<CollectiveOp, std::int64_t>> forward_;  // operation, elements
};

}  // namespace flopcast::whatif
