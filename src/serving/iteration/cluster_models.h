// What deployments ask of a machine, remembered and shared by all deployments on it: a search makes thousands.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "flopcast/machine.h"

namespace flopcast::serving {

/// Seconds by bytes of one collective in one group.
struct TransferCurve {
  static constexpr int kLeast = 10, kMost = 32;  ///< log2 of bytes
  std::vector<double> seconds;                   ///< by log2 of bytes - kLeast; empty: no group
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
  explicit ClusterModels(Machine machine) : machine_(std::move(machine)) {}

  Machine machine_;
  mutable std::mutex mutex_;
  mutable std::array<std::atomic<double>, 16> peaks_{};  ///< by type; 0: not asked for yet
  mutable std::map<std::tuple<CollectiveOp, unsigned, unsigned>, TransferCurve> curves_;
};

}  // namespace flopcast::serving
