// What comes and goes on a chip while a step runs, beside the activations that it keeps: working tensors, gathered weights, and
// what the caching allocator reserves above all that. From the sequence of tensors of a step, played (analytic/allocator).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analytic/step/constants.h"
#include "flopcast/parallel.h"

namespace flopcast::analytic {

struct ChipHeld;
struct ExecutionCost;

struct DynamicPeak {
  double working = 0;  ///< B at the fullest moment, above activations
  double holes = 0;    ///< B reserved above both
};

/// Remembers. Not thread-safe; its answers do not depend on what was asked before.
class DynamicMemory {
 public:
  /// @param in_flight microbatches of the chip between forward and backward.
  DynamicPeak peak(const ExecutionCost& cost, const ChipHeld& held, const Plan& plan,
                   unsigned in_flight, const Constants& constants);
  /// The same as tensors are counted, without the allocator: `working` is never more, and there are no holes.
  DynamicPeak counted(const ExecutionCost& cost, const ChipHeld& held, const Plan& plan,
                      unsigned in_flight, const Constants& constants);
  /// Costs are gone.
  void clear() { played_.clear(), counted_.clear(); }

 private:
  struct Key {
    const ExecutionCost* cost;
    std::uint32_t flags;
    std::vector<std::uint32_t> layers;  ///< by kind
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  using Known = std::unordered_map<Key, DynamicPeak, Hash>;
  DynamicPeak answer(Known& known, bool played, const ExecutionCost& cost, const ChipHeld& held,
                     const Plan& plan, unsigned in_flight, const Constants& constants);

  Known played_, counted_;
};

}  // namespace flopcast::analytic
