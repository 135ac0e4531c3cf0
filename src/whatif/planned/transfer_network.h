// Transfers of a step on a named network.
#pragma once

#include <string>

#include "flopcast/machine.h"
#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// See the head of this file.
class TransferNetwork {
 public:
  static Result<TransferNetwork> of(const std::string& cluster);

  const Cluster& cluster() const { return machine_.cluster(); }
  /// Time with other bytes and ranks over that with the recorded ones, both as the model has them.
  /// @param stride of the ranks of a group: chips between neighbours
  double ratio(const WholeTransfer& recorded, double bytes, std::uint32_t ranks,
               std::uint32_t stride) const;

 private:
  explicit TransferNetwork(Machine machine) : machine_(std::move(machine)) {}
  double seconds(CollectiveOp op, double bytes, std::uint32_t ranks, std::uint32_t stride) const;

  Machine machine_;
};

}  // namespace flopcast::whatif::planned
