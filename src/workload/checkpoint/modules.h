// The modules of a model's layers as checkpoints call them, and the class of weights that each belongs to.
#pragma once

#include <string>
#include <vector>

#include "flopcast/workload.h"

namespace flopcast::workload {

/// As serving tells weights apart.
enum class WeightClass : std::uint8_t { kAttention, kDense, kExperts };
inline constexpr std::size_t kWeightClasses = 3;
std::string_view name(WeightClass weights);  ///< "attention"

/// Some products of one layer, under every name that checkpoints have for them, from "layers." on.
struct StoredModule {
  WeightClass weights = WeightClass::kAttention;
  double values = 0;
  std::vector<std::string> names;
};
/// Of layer `index` of the model.
std::vector<StoredModule> stored_modules(const Layer& layer, std::size_t index,
                                         std::int64_t hidden);

}  // namespace flopcast::workload
