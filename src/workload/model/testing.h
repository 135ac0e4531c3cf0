// What holds of every model that a reader lets through: shared by tests and the fuzz target.
#pragma once

#include <cmath>
#include <string>

#include "flopcast/workload/operators.h"
#include "workload/model/model_flaw.h"

namespace flopcast::workload {

inline bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

inline bool is_sound(const std::vector<OperatorStep>& steps) {
  const Work work = total_work(steps);
  return is_amount(work.matrix.value) && is_amount(work.traffic.value) &&
         is_amount(work.sent.value);
}

inline bool is_sound(const OperatorList& list) {
  for (const Operator& op : list.operators) {
    if (!is_sound(op.forward) || !is_sound(op.backward_input) || !is_sound(op.backward_weight)) {
      return false;
    }
    if (op.weights < 0 || op.trainable < 0 || !is_amount(op.saved.value)) return false;
  }
  return is_amount(list.saved.value) && list.live >= list.saved && list.peak >= list.live;
}

/// What is wrong with the model and with what is computed of it; empty: nothing.
inline std::string unsound(const Model& model) {
  if (const auto flaw = model_flaw(model)) return *flaw;
  const Parameters parameters = count_parameters(model);
  if (parameters.total < 1 || parameters.active < 0 || parameters.embedding < 0 ||
      parameters.head < 0 || parameters.active > parameters.total) {
    return "its parameters";
  }
  Execution run;
  run.tp = 3, run.cp = 2, run.ep = 2, run.sequence_parallel = true;
  for (const Execution& execution : {Execution{}, run}) {
    const OperatorGraph graph = make_operators(model, execution);
    if (graph.layers.size() != model.kinds.size() || !(graph.boundary.value > 0))
      return "its graph";
    if (!is_sound(graph.embedding) || !is_sound(graph.head)) return "its ends";
    for (const OperatorList& layer : graph.layers) {
      if (!is_sound(layer)) return "a layer";
    }
  }
  return "";
}

}  // namespace flopcast::workload
