// Transfers of a step on a named network.
#pragma once

#include <string>

#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// See the head of this file.
class TransferNetwork {
 public:
  static Result<TransferNetwork> of(const std::string& cluster);

  const Cluster& cluster() const { return model_.cluster(); }
  /// Time with other bytes and ranks over that with the recorded ones, both as the model has them.
  /// @param stride of the ranks of a group: chips between neighbours
  double ratio(const WholeTransfer& recorded, double bytes, std::uint32_t ranks,
               std::uint32_t stride) const;

 private:
  explicit TransferNetwork(CollectiveModel model) : model_(std::move(model)) {}
  double seconds(CollectiveOp op, double bytes, std::uint32_t ranks, std::uint32_t stride) const;

  CollectiveModel model_;
};

}  // namespace flopcast::whatif::planned
