// How much longer or shorter a collective's transfer gets in another group, or with other bytes.
#pragma once

#include <map>

#include "flopcast/network/collectives.h"
#include "whatif/structure/stretch.h"

namespace flopcast::whatif::structure {

/// The bytes that a group puts on its links for one operation, as a multiple of the operation's own
/// size: what a ring's transfer time grows with.
double ring_factor(CollectiveOp op, std::size_t ranks);

/// New transfers from recorded ones: the recorded transfer times the ratio of a model's time for the
/// new group and size to its time for the recorded ones. Without a known network the model is a ring:
/// what is recorded, less the smallest transfer of its kind, in proportion to the bytes on its links.
class Transfers {
 public:
  Transfers(const TraceSet& set, const replaying::Recording& recording);

  /// Name of a recorded collective's operation.
  std::string_view operation(const replaying::Recording& recording, RowRef row) const;
  /// What recorded transfers of this operation, `typical` long, are to be multiplied by.
  double ratio(std::string_view operation, Time typical, std::size_t ranks_before,
               double bytes_factor, std::size_t ranks_after) const;

 private:
  const TraceSet& set_;
  std::map<CollectiveOp, Time> least_;  // smallest recorded transfer: latency alone
};

}  // namespace flopcast::whatif::structure
