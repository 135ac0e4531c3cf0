// Kernel times, remembered: executions of one model share most of their kernels (recompute, sequence
// parallelism and the like change none of the GEMMs).
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "flopcast/cost.h"

namespace flopcast::analytic {

/// Not thread-safe; its answers are the model's.
class KernelTimes {
 public:
  struct Answer {
    double seconds = 0;
    Basis basis = Basis::kAssumed;
  };
  explicit KernelTimes(const KernelModel& kernels) : kernels_(kernels) {}

  Answer time(const Kernel& kernel);

 private:
  /// Which kind of kernel, then its fields.
  using Key = std::array<std::uint64_t, 12>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  static Key key_of(const Kernel& kernel);

  const KernelModel& kernels_;
  std::unordered_map<Key, Answer, Hash> known_;
};

}  // namespace flopcast::analytic
