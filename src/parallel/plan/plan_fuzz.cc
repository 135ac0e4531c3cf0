// Any bytes are a plan or one error; what is read can be written, and read again as the same plan
// unless the writer names what is lost.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/parallel/files.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  const auto file = parse_plan({reinterpret_cast<const char*>(data), size}, "input");
  if (!file) return 0;
  const Result<Plan> plan = with_chips(*file);
  if (!plan) return 0;
  const Model model = *load_model("mixtral-8x7b");
  const std::vector<Diagnostic> problems = plan_problems(*plan, model, file->chips);
  test::check(plan_possible(*plan, model, file->chips) == problems.empty());
  if (problems.empty()) (void)layers_per_stage(*plan, model.layers());
  for (const PlanFormat format :
       {PlanFormat::kMegatron, PlanFormat::kTorchtitan, PlanFormat::kDeepspeed}) {
    const PlanText text = write_plan(*plan, format);
    const auto again = parse_plan(text.text, "written");
    test::check(again || !problems.empty());
    test::check(launchable(*plan, format) == text.lost.empty());
    const bool whole = text.lost.empty() && text.elsewhere.empty() && file->open.empty();
    if (!again || !problems.empty() || !whole || format != facts(file->launcher).writes) continue;
    const Result<Plan> same = with_chips(*again, plan->chips());
    test::check(same && *same == *plan);
  }
  return 0;
}
