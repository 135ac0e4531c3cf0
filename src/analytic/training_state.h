// What a TrainingModel holds.
#pragma once

#include <string>
#include <vector>

#include "analytic/training_constants.h"
#include "flopcast/analytic.h"

namespace flopcast {

struct TrainingModel::State {
  Model model;
  Cluster cluster;
  TrainingOptions options;
  std::string software;
  training::Constants constants;
  KernelModel kernels;
  CollectiveModel network;
  std::vector<unsigned> tiers;
  /// layers_before[kind][i]: layers of this kind among the first i.
  std::vector<std::vector<std::uint32_t>> layers_before;
};

}  // namespace flopcast
