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
    test::check(!runs.error().what.empty() && !runs.error().hint.empty());
    return 0;
  }
  test::check(!runs->empty());
  for (const TrainingRun& run : *runs) {
    test::check(!run.id.empty() && !run.group.empty());
    test::check(run.quality >= 'A' && run.quality <= 'C');
    if (!run.incomplete.empty()) continue;
    test::check(run.measured_s > 0 && !run.cluster.empty() && run.plan.chips() == run.chips);
    plan_problems(run.plan, run.model, run.chips);
  }
  return 0;
}
