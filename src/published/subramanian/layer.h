// Time of one layer: each operator's on the rates of a system, and their sums.
#pragma once

#include <array>

#include "published/subramanian/collective.h"
#include "published/subramanian/operators.h"

namespace flopcast::published {

/// Costs of the collectives of one layer on one placement: by axis and kind.
class LayerCosts {
 public:
  LayerCosts(const Rates& rates, const PaperPlan::Groups& size, const PaperPlan::Groups& domain,
             const PaperDefects& defects);
  const CollectiveCost& of(Axis axis, PaperCollective kind) const {
    return costs_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(kind)];
  }

 private:
  std::array<std::array<CollectiveCost, 5>, 2> costs_{};
};

/// Seconds of one direction of an operator or a layer; what they add up to is its time.
struct Parts {
  double compute = 0, exposed_memory = 0, communication = 0;
  double total() const { return compute + exposed_memory + communication; }
  Parts& operator+=(const Parts& o) {
    compute += o.compute;
    exposed_memory += o.exposed_memory;
    communication += o.communication;
    return *this;
  }
};

/// What of a layer does not depend on where its GPUs sit.
struct LayerSums {
  double flops = 0, weights = 0, activations = 0;  ///< bytes; flops of both directions
  double boundary = 0;                             ///< bytes that cross from stage to stage
};
LayerSums layer_sums(const Layer& layer);

/// @param panels of the layer's shape.
Parts operator_time(const Operator& op, const Work& work, std::int64_t panels, const Rates& rates,
                    const LayerCosts& costs);

struct LayerTime {
  Parts forward, backward;
};
LayerTime layer_time(const Layer& layer, std::int64_t panels, const Rates& rates,
                     const LayerCosts& costs);

}  // namespace flopcast::published
