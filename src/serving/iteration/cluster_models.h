// What deployments ask of a machine, remembered and shared by all deployments on it: a search makes thousands.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "flopcast/machine.h"

namespace flopcast::serving {

/// Seconds by bytes of one collective in one group.
struct TransferCurve {
  static constexpr int kLeast = 10, kMost = 32;  ///< log2 of bytes
  std::vector<double> seconds;                   ///< by log2 of bytes - kLeast; empty: no group
  double nominal_least =
      0;  ///< of the fewest bytes, on the machine before any of its numbers changed, as the catalogue has it
  Basis basis = Basis::kAssumed;
  double at(double bytes) const;
};

class ClusterModels {
 public:
  static Result<std::shared_ptr<const ClusterModels>> make(const Cluster& cluster,
                                                           const Catalog& catalog);
  const KernelModel& kernels() const { return machine_.kernels(); }
  const Cluster& cluster() const { return machine_.cluster(); }
  /// Of `count` chips from chip 0 on, `stride` apart.
  const TransferCurve& curve(CollectiveOp op, unsigned count, unsigned stride) const;
  /// FLOP/s of the chip's peak at products of this type.
  double peak(GemmType type) const;

 private:
  ClusterModels(Machine machine, std::optional<Machine> nominal)
      : machine_(std::move(machine)), nominal_(std::move(nominal)) {}

  double least_seconds(const CollectiveModel& transfers, CollectiveQuery query) const;

  Machine machine_;
  std::optional<Machine> nominal_;  ///< where numbers changed
  mutable std::mutex mutex_;
  mutable std::array<std::atomic<double>, 16> peaks_{};  ///< by type; 0: not asked for yet
  mutable std::map<std::tuple<CollectiveOp, unsigned, unsigned>, TransferCurve> curves_;
};

}  // namespace flopcast::serving
