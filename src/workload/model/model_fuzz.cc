// Any bytes are a model, a catalogue file, or one error; every model has parameters and operators.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/workload/operators.h"
#include "support/fuzz_target.h"
#include "workload/model/builtin.h"

namespace {

bool is_sound(const flopcast::Model& model) {
  flopcast::Execution run;
  run.tp = 3;
  run.cp = 2;
  run.ep = 2;
  run.sequence_parallel = true;
  const flopcast::OperatorGraph graph = flopcast::make_operators(model, run);
  const flopcast::Parameters parameters = flopcast::count_parameters(model);
  return parameters.active <= parameters.total && graph.layers.size() == model.kinds.size() &&
         graph.boundary.value > 0;
}

}  // namespace

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto model = flopcast::parse_model(text, "input"); model && !is_sound(*model)) {
    __builtin_trap();
  }
  if (const auto models = flopcast::workload::read_model_file(text, "input")) {
    for (const flopcast::workload::BuiltinModel& builtin : *models) {
      if (!is_sound(builtin.model)) __builtin_trap();
    }
  }
  return 0;
}
