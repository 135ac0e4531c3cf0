// What a TrainingModel holds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analytic/step/constants.h"
#include "flopcast/analytic.h"
#include "flopcast/machine.h"

namespace flopcast {

namespace analytic {

/// What does not depend on the model that is trained: models of one cluster share it.
struct System {
  Machine machine;
  std::vector<unsigned> tiers;
};
Result<std::shared_ptr<const System>> make_system(Cluster cluster, const Catalog& catalog,
                                                  const KernelModelOptions& kernels);

}  // namespace analytic

struct TrainingModel::State {
  Model model;
  std::shared_ptr<const analytic::System> system;
  TrainingOptions options;
  std::string software;
  analytic::Constants constants;
  /// layers_before[kind][i]: layers of this kind among the first i.
  std::vector<std::vector<std::uint32_t>> layers_before;

  static Result<TrainingModel> make(Model model, std::shared_ptr<const analytic::System> system,
                                    const TrainingOptions& options);
  /// Of another model, all else as it is known.
  static TrainingModel again(const State& known, Model model);
};

namespace analytic {

/// The state's constants, with what experts' rows cost under a dispatcher that the plan names, whatever the software.
Constants dispatched_constants(const TrainingModel::State& state, DispatcherKind dispatcher);

}  // namespace analytic

}  // namespace flopcast
