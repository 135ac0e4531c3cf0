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
  const auto model = flopcast::parse_model(text, "input");
  flopcast::test::check(!model || unsound(*model).empty());
  if (const auto models = flopcast::workload::read_model_file(text, "input")) {
    for (const flopcast::workload::BuiltinModel& builtin : *models) {
      flopcast::test::check(unsound(builtin.model).empty());
    }
  }
  return 0;
}
