// Embedding, layers and head of the passes and of what is done once a step.
#pragma once

#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// What the whole model is made of. Seconds of a microbatch; of the optimizer, of a step.
struct ModelParts {
  PassTimes embedding, head;
  PassTimes layer;    ///< one layer; where they are not told, a stage between the ends
  PassTimes host;     ///< of a chip, all its chunks together
  double layers = 0;  ///< how many of `layer` the model has
  bool told = false;  ///< else found by comparing stages
  double of_embedding = 0, of_head = 0, of_layer = 0;  ///< of the optimizer
};

/// kNoAnswer: the recording does not tell the ends of the model from its layers.
Result<ModelParts> find_parts(const Step& step);

}  // namespace flopcast::whatif::planned
