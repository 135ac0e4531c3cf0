// Floor 5: models that share a machine: what a cluster is made into takes longer than a forecast.
//
//   const auto first = TrainingModel::make(llama, cluster, catalog);
//   const TrainingModel next = with_model(*first, gpt);   on the same machine, with the same constants
#pragma once

#include "flopcast/analytic.h"

namespace flopcast {

/// Another model on the same machine, with the same options and constants.
TrainingModel with_model(const TrainingModel& known, Model model);
/// The same model on the same machine, with other software or constants: `options.kernels` are those that the machine
/// was made with. Errors: as of TrainingModel::make.
Result<TrainingModel> with_options(const TrainingModel& known, const TrainingOptions& options);

}  // namespace flopcast
