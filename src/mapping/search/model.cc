// The two models that a mapping is found under.
#include "flopcast/mapping.h"

namespace flopcast {

MappingModel full_model() {
  MappingModel model;
  model.name = "full";
  return model;
}

MappingModel paper_model() {
  MappingModel model;
  model.name = "paper";
  model.shared_tensors = false;
  model.boundary_traffic = false;
  model.weight_traffic = false;
  model.gradient_traffic = false;
  model.latency = false;
  model.training_state = false;
  model.whole_left_operands = false;
  model.reduce_scatter = false;
  model.sharding_by_time = false;
  model.send_per_microbatch = false;
  model.published_bubble = true;
  model.hide_gradients = true;
  model.optimizer_step = false;
  return model;
}

}  // namespace flopcast
