// How much longer or shorter a collective's transfer gets in another group, or with other bytes.
#pragma once

#include "flopcast/network/collectives.h"
#include "whatif/structure/recorded/stretch.h"

namespace flopcast::whatif::structure {

/// The bytes that a group puts on its links for one operation, as a multiple of the operation's own
/// size: what a ring's transfer time grows with.
double ring_factor(CollectiveOp op, std::size_t ranks);

/// How far the ratio of a ring may be off, either way: NCCL's other algorithms and links between nodes
/// are not told by the recording.
inline constexpr double kRingDoubt = 0.25;

/// New transfers from recorded ones: the recorded transfer times the ratio of a model's time for the
/// new group and size to its time for the recorded ones. The model is a ring's: a latency, and what is
/// recorded beyond it in proportion to the bytes on the links.
class Transfers {
 public:
  explicit Transfers(const TraceSet& set) : set_(set) {}

  /// Name of a recorded collective's operation.
  std::string_view operation(const replaying::Recording& recording, RowRef row) const;
  /// What recorded transfers of this operation, `typical` long, are to be multiplied by.
  double ratio(std::string_view operation, Time typical, std::size_t ranks_before,
               double bytes_factor, std::size_t ranks_after) const;

 private:
  const TraceSet& set_;
};

}  // namespace flopcast::whatif::structure
