// Any bytes are measured runs or one error; a run that cannot be forecast says why, and every other
// has a plan that can be checked against its model.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measured/training/runs.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto runs = measured::parse_runs(text, "input");
  if (!runs) {
    if (runs.error().what.empty() || runs.error().hint.empty()) __builtin_trap();
    return 0;
  }
  if (runs->empty()) __builtin_trap();
  for (const TrainingRun& run : *runs) {
    if (run.id.empty() || run.group.empty()) __builtin_trap();
    if (run.quality < 'A' || run.quality > 'C') __builtin_trap();
    if (!run.incomplete.empty()) continue;
    if (!(run.measured_s > 0) || run.cluster.empty() || run.plan.chips() != run.chips) {
      __builtin_trap();
    }
    plan_problems(run.plan, run.model, run.chips);
  }
  return 0;
}
