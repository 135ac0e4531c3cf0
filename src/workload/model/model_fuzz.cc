// Any bytes are a model, a catalogue file, or one error; every model has parameters and operators.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/fuzz_target.h"
#include "workload/model/builtin.h"
#include "workload/model/testing.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using flopcast::workload::unsound;
  if (const auto model = flopcast::parse_model(text, "input"); model && !unsound(*model).empty()) {
    __builtin_trap();
  }
  if (const auto models = flopcast::workload::read_model_file(text, "input")) {
    for (const flopcast::workload::BuiltinModel& builtin : *models) {
      if (!unsound(builtin.model).empty()) __builtin_trap();
    }
  }
  return 0;
}
